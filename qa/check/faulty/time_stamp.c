// expect: file-io control stamp
// also: allocation memory-map
#include "../rt.h"

static char line[64];

static void stamp(void)
{
	time_t seconds = time(NULL);
	struct tm *t = localtime(&seconds); // fault
	strftime(line, sizeof(line), "%H:%M:%S", t);
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		stamp();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	stamp();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
