// expect: page-fault control record
// also: memory-not-locked
#include "../rt.h"

/* main locks its memory after it has started its threads and read its settings. */
static double history[4096][64];
static int filled;

static void record(double value)
{
	double *row = history[filled++ % 4096];
	for (int k = 0; k < 64; k++)
		row[k] = value + k; // fault
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 700; n++) {
		wait_next(&next, PERIOD);
		work();
		record(n);
	}
	return unused;
}

int main(void)
{
	pthread_t thread = start("control", 80, control, NULL);
	usleep(600000);
	lock_memory();
	pthread_join(thread, NULL);
	return 0;
}
