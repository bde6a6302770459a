/* Real-time threads meet at a barrier with main before they begin, and main joins them. */
#include "../rt.h"

static pthread_barrier_t ready;

static void *axis(void *data)
{
	long period = (long)data;
	struct timespec next;

	pthread_barrier_wait(&ready);
	next = now();
	for (int n = 0; n < 400; n++) {
		wait_next(&next, period);
		work();
	}
	return NULL;
}

int main(void)
{
	pthread_t axes[3];
	char name[16];

	lock_memory();
	pthread_barrier_init(&ready, NULL, 4);
	for (long n = 0; n < 3; n++) {
		snprintf(name, sizeof(name), "axis%ld", n);
		axes[n] = start(name, 80, axis, (void *)(PERIOD + n * 500000));
	}
	pthread_barrier_wait(&ready);
	for (int n = 0; n < 3; n++)
		pthread_join(axes[n], NULL);
	return 0;
}
