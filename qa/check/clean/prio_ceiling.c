/* Two real-time threads share a mutex with a priority ceiling. */
#include "../rt.h"

static pthread_mutex_t lock;
static double state;

static void *axis(void *data)
{
	struct timespec next;
	long period = (long)data;

	/* The first time allocates. */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	next = now();

	for (int n = 0; n < 400; n++) {
		wait_next(&next, period);
		pthread_mutex_lock(&lock);
		state += 0.5;
		work();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT);
	pthread_mutexattr_setprioceiling(&attr, 90);
	pthread_mutex_init(&lock, &attr);
	lock_memory();
	pthread_t fast = start("fast", 80, axis, (void *)PERIOD);
	pthread_t slow = start("slow", 70, axis, (void *)(PERIOD * 3 / 2));
	pthread_join(fast, NULL);
	pthread_join(slow, NULL);
	return 0;
}
