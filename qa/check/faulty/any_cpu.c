// expect: affinity-missing any_cpu main
// also: migration
// cpus: 2
#include "../rt.h"

int main(void)
{
	struct sched_param param = { .sched_priority = 92 };

	lock_memory();
	sched_setscheduler(0, SCHED_FIFO, &param); // fault
	struct timespec next = now();
	for (int n = 0; n < 500; n++) {
		wait_next(&next, PERIOD);
		work();
	}
	return 0;
}
