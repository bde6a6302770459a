// expect: period-drifts control run
#include "../rt.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static int timer, all;

static void expires_after(long time)
{
	struct itimerspec spec = { .it_value = { 0, time } };
	timerfd_settime(timer, 0, &spec, NULL);
}

static void run(int cycles)
{
	struct epoll_event events[8];
	uint64_t count;

	while (cycles-- > 0) {
		int ready = epoll_wait(all, events, 8, -1); // fault
		for (int n = 0; n < ready; n++)
			if (read(events[n].data.fd, &count, sizeof(count)) < 0)
				return;
		for (int k = 0; k <= cycles % 7; k++)
			work();
		expires_after(PERIOD);
	}
}

static void *control(void *unused)
{
	struct epoll_event event = { .events = EPOLLIN };

	timer = event.data.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	all = epoll_create1(0);
	epoll_ctl(all, EPOLL_CTL_ADD, timer, &event);
	expires_after(PERIOD);
	run(600);
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
