// expect: file-io control load
// The descriptor is closed again before it can be looked up in /proc.
#include "../rt.h"
#include <fcntl.h>

static __attribute__((noinline)) void load(int file, char *to)
{
	if (read(file, to, 64) < 0) // fault
		abort();
}

static void step(int n)
{
	static char text[64];

	(void)n;
	int file = open("/etc/passwd", O_RDONLY);
	load(file, text);
	close(file);
}

static void *control(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		step(n);
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
