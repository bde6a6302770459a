// expect: new-thread control step
// also: blocking-call waits-for-less-urgent memory-map policy-inherited file-io page-fault major-fault allocation
#include "../rt.h"

static void step(int n)
{
	if (n % 100 == 0)
		if (system("true")) // fault
			return;
}

static void *control(void *unused)
{
	(void)unused;
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return NULL;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
