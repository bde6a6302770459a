#include "../rt.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static void *control(void *unused)
{
	struct itimerspec period = { { 0, PERIOD }, { 0, PERIOD } };
	struct epoll_event event = { .events = EPOLLIN };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), all = epoll_create1(0);
	uint64_t expired;

	event.data.fd = timer;
	epoll_ctl(all, EPOLL_CTL_ADD, timer, &event);
	timerfd_settime(timer, 0, &period, NULL);
	for (int n = 0; n < 600; n++) {
		epoll_wait(all, &event, 1, -1);
		if (read(event.data.fd, &expired, sizeof(expired)) < 0)
			continue;
		work();
	}
	close(timer);
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
