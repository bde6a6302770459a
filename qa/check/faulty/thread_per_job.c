// expect: new-thread control step
// also: file-io policy-inherited memory-map allocation page-fault
#include "../rt.h"

static void *job(void *data)
{
	return data;
}

static void step(int n)
{
	pthread_t thread;
	if (n % 20)
		return;
	if (pthread_create(&thread, NULL, job, NULL) == 0) // fault
		pthread_detach(thread);
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
