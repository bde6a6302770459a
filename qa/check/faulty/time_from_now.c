// expect: period-drifts control control
#include "../rt.h"

static void *control(void *unused)
{
	struct timespec time;

	for (int n = 0; n < 600; n++) {
		for (int k = 0; k <= n % 7; k++)
			work();
		clock_gettime(CLOCK_MONOTONIC, &time);
		time.tv_nsec += PERIOD;
		if (time.tv_nsec >= 1000000000L) {
			time.tv_nsec -= 1000000000L;
			time.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL); // fault
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
