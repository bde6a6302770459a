// expect: overrun control *
#include "../rt.h"

static void step(int n)
{
	if (n % 20)
		return;
	struct timespec begun = now(), t;
	do
		t = now();
	while ((t.tv_sec - begun.tv_sec) * 1000000000L + t.tv_nsec - begun.tv_nsec < 3 * PERIOD);
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
