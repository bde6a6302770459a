// expect: page-fault control step
// also: memory-not-locked
#include "../rt.h"

static volatile char samples[600 * 4096];

static void step(int n)
{
	samples[n * 4096] = n; // fault
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
	
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
