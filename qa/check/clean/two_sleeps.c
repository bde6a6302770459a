/* Each cycle sleeps until two absolute times, as for a pulse. */
#include "../rt.h"

static void edge(struct timespec *next)
{
	wait_next(next, 300000);
}

static void *control(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 500; n++) {
		wait_next(&next, PERIOD - 300000);
		work();
		edge(&next);
		work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
