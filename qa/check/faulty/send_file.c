// expect: file-io control step
#include "../rt.h"
#include <fcntl.h>
#include <sys/sendfile.h>

static int from, to;

static void step(int n)
{
	off_t at = 0;

	if (n % 5 == 0 && sendfile(to, from, &at, 100) < 0) // fault
		abort();
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
	from = open("/etc/passwd", O_RDONLY);
	to = open("/dev/null", O_WRONLY);
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
