/* Shared by all programs of the corpus: starts a thread with a policy, on a CPU, that waits for its period. */
#ifndef RT_H
#define RT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 2000000L

static inline void lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("mlockall");
}

/* Starts a SCHED_FIFO thread; with priority 0, an ordinary one. */
static inline pthread_t start(const char *name, int priority, void *(*body)(void *), void *data)
{
	pthread_t thread;
	pthread_attr_t attr;
	struct sched_param param = { .sched_priority = priority };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, priority ? SCHED_FIFO : SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	if (priority)
		pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (pthread_create(&thread, &attr, body, data)) {
		perror("pthread_create");
		exit(2);
	}
	pthread_setname_np(thread, name);
	return thread;
}

static inline struct timespec now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t;
}

static inline void wait_next(struct timespec *next, long period)
{
	next->tv_nsec += period;
	while (next->tv_nsec >= 1000000000L) {
		next->tv_nsec -= 1000000000L;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

/* Works for some microseconds. */
static inline void work(void)
{
	for (volatile int n = 0; n < 2000; n++)
		;
}
#endif
