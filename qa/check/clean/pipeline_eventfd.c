#include "../rt.h"
#include <stdint.h>
#include <sys/eventfd.h>

static int ready;

static void *driver(void *unused)
{
	uint64_t one = 1;
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		if (write(ready, &one, sizeof(one)) < 0)
			break;
	}
	return unused;
}

static void *control(void *unused)
{
	uint64_t count;
	for (int n = 0; n < 500; n++) {
		if (read(ready, &count, sizeof(count)) < 0)
			break;
		work();
	}
	return unused;
}

int main(void)
{
	ready = eventfd(0, 0);
	lock_memory();
	pthread_t below = start("control", 90, control, NULL);
	pthread_join(start("driver", 92, driver, NULL), NULL);
	pthread_join(below, NULL);
	return 0;
}
