/* Each cycle sets a timerfd to an absolute time, and waits for it in poll(2) with a timeout that never expires. */
#include "../rt.h"
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>

static void *control(void *unused)
{
	struct itimerspec at = { .it_value = now() };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t expired;

	for (int n = 0; n < 500; n++) {
		struct pollfd all[] = { { .fd = timer, .events = POLLIN } };

		at.it_value.tv_nsec += PERIOD;
		if (at.it_value.tv_nsec >= 1000000000L) {
			at.it_value.tv_nsec -= 1000000000L;
			at.it_value.tv_sec++;
		}
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
		if (poll(all, 1, 100) == 1 && read(timer, &expired, sizeof(expired)) > 0)
			work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
