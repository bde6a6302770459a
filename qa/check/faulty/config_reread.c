// expect: file-io control step
#include "../rt.h"
#include <fcntl.h>

static void step(int n)
{
	if (n % 10)
		return;
	int file = open("/etc/hostname", O_RDONLY); // fault
	if (file >= 0)
		close(file);
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
