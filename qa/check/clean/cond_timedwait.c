/* The period is an absolute timeout of a condition variable with CLOCK_MONOTONIC. */
#include "../rt.h"
#include <sys/prctl.h>

static pthread_mutex_t lock;
static pthread_cond_t stop;

static void *control(void *unused)
{
	struct timespec next = now();

	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&lock);
	for (int n = 0; n < 500; n++) {
		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		while (pthread_cond_timedwait(&stop, &lock, &next) == 0)
			;
		work();
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void)
{
	pthread_mutexattr_t inherit;
	pthread_condattr_t monotonic;

	lock_memory();
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &inherit);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&stop, &monotonic);
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
