// expect: allocation control step
// also: memory-map
#include "../rt.h"

static volatile char sink;

static void step(int n)
{
	char *volatile buffer = malloc(64 + n % 7); // fault
	buffer[0] = n;
	sink = buffer[0];
	free(buffer);
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
