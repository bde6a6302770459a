#include "../rt.h"

static void *control(void *period)
{
	struct timespec next = now();
	for (int n = 0; n < 1200000000L / *(long *)period; n++) {
		wait_next(&next, *(long *)period);
		work();
	}
	return NULL;
}

int main(void)
{
	long fast = 2000000, slow = 10000000;
	lock_memory();
	pthread_t other = start("slow", 91, control, &slow);
	pthread_join(start("fast", 92, control, &fast), NULL);
	pthread_join(other, NULL);
	return 0;
}
