// expect: realtime-clock control control
#include "../rt.h"

static void *control(void *unused)
{
	struct timespec next;
	clock_gettime(CLOCK_REALTIME, &next);
	for (int n = 0; n < 500; n++) {
		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL); // fault
		work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
