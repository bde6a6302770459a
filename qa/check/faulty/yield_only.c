// expect: sched-yield control control
// also: page-fault never-waits
#include "../rt.h"

static void *control(void *unused)
{
	struct timespec next = now(), time;

	for (int n = 0; n < 200; n++) {
		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		do {
			sched_yield(); // fault
			time = now();
		} while (time.tv_sec < next.tv_sec || (time.tv_sec == next.tv_sec && time.tv_nsec < next.tv_nsec));
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
