#include "../rt.h"

static void *control(void *unused)
{
	/* Everything is allowed before the first cycle, and after the last one. */
	double *table = malloc(100000 * sizeof(double));
	for (int n = 0; n < 100000; n++)
		table[n] = n * 0.5;
	fprintf(stderr, "ready\n");
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		table[n] += 1;
		work();
	}
	fprintf(stderr, "done %f\n", table[3]);
	free(table);
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
