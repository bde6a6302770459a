/* A mutex with priority inheritance and a condition variable pass values to a less urgent real-time thread. */
#include "../rt.h"

static pthread_mutex_t lock;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int values[16];
static unsigned written, taken;
static int stop;

static void *sensor(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		pthread_mutex_lock(&lock);
		values[written++ % 16] = n;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *filter(void *unused)
{
	long sum = 0;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (taken == written && !stop)
			pthread_cond_wait(&filled, &lock);
		if (stop)
			break;
		sum += values[taken++ % 16];
		pthread_mutex_unlock(&lock);
		work();
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return sum < 0 ? NULL : unused;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);
	lock_memory();
	pthread_t second = start("filter", 70, filter, NULL);
	usleep(20000);
	pthread_join(start("sensor", 80, sensor, NULL), NULL);
	pthread_join(second, NULL);
	return 0;
}
