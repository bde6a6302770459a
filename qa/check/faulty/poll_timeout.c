// expect: relative-sleep control control
#include "../rt.h"
#include <sys/epoll.h>

static void *control(void *unused)
{
	int queue = epoll_create1(0);
	struct epoll_event event;

	for (int n = 0; n < 500; n++) {
		epoll_wait(queue, &event, 1, 2); // fault
		work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
