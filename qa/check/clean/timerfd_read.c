#include "../rt.h"
#include <stdint.h>
#include <sys/timerfd.h>

static int timer;

static void *control(void *unused)
{
	struct itimerspec period = { { 0, PERIOD }, { 0, PERIOD } };
	uint64_t expired;

	timerfd_settime(timer, 0, &period, NULL);
	for (int n = 0; n < 600; n++) {
		if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
			break;
		work();
	}
	return unused;
}

int main(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	lock_memory();
	pthread_join(start("control", 92, control, NULL), NULL);
	return 0;
}
