// expect: never-waits control *
// also: page-fault
#include "../rt.h"

static void *control(void *unused)
{
	struct timespec begin = now(), time = begin;

	while (time.tv_sec - begin.tv_sec < 2)
		time = now();
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
