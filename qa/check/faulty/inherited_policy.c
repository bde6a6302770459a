// expect: policy-inherited helper main
// also: relative-sleep
#include "../rt.h"

static void *helper(void *unused)
{
	pthread_setname_np(pthread_self(), "helper");
	for (int n = 0; n < 20; n++)
		usleep(50000);
	return unused;
}

int main(void)
{
	struct sched_param param = { .sched_priority = 92 };
	pthread_t thread;
	cpu_set_t cpus;

	lock_memory();
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_FIFO, &param);
	pthread_create(&thread, NULL, helper, NULL); // fault
	struct timespec next = now();
	for (int n = 0; n < 500; n++) {
		wait_next(&next, PERIOD);
		work();
	}
	pthread_join(thread, NULL);
	return 0;
}
