// expect: realtime-clock control control
#include "../rt.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t quit = PTHREAD_COND_INITIALIZER;

static void *control(void *unused)
{
	struct timespec next;
	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&lock);
	for (int n = 0; n < 500; n++) {
		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		pthread_cond_timedwait(&quit, &lock, &next); // fault
		work();
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
