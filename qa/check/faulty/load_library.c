// expect: memory-map control step
// also: file-io allocation page-fault major-fault lock-shared
#include "../rt.h"
#include <dlfcn.h>

static void step(int n)
{
	if (n == 200 && !dlopen("libresolv.so.2", RTLD_NOW)) // fault
		abort();
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
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
