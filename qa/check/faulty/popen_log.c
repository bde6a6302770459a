// expect: output control step
// also: allocation memory-map
#include "../rt.h"

static FILE *log_to;

static void step(int n)
{
	fprintf(log_to, "%d %f %f\n", n, n * 0.002, n * 0.25); // fault
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return unused;
}

int main(void)
{
	log_to = popen("cat > /dev/null", "w");
	if (!log_to)
		return 1;
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	pclose(log_to);
	return 0;
}
