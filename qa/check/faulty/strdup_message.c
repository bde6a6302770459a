// expect: allocation control step
// also: memory-map
#include "../rt.h"

static char *volatile message;

static void step(int n)
{
	(void)n;
	free(message);
	message = strdup("over temperature"); // fault
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
