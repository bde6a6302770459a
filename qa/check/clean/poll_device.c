/* A loop around poll(2) with a timeout as a watchdog, as for a sound card: the device here is a timer. */
#include "../rt.h"
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

static float in[128], out[128];

static int wait_for_device(struct pollfd *fds, int count)
{
	int ready;

	do
		ready = poll(fds, count, 1000);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return -1;
	for (int n = 0; n < count; n++)
		if (fds[n].revents & (POLLERR | POLLNVAL))
			return -1;
	return 0;
}

static void process(void)
{
	for (int n = 0; n < 128; n++)
		out[n] = 0.5f * in[n] + 0.25f * in[(n + 1) % 128];
}

static void *audio(void *unused)
{
	struct itimerspec period = { { 0, 2666667 }, { 0, 2666667 } };
	struct pollfd fds[2] = {
		{ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), .events = POLLIN | POLLERR | POLLNVAL },
		{ .fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN },
	};
	uint64_t periods;

	timerfd_settime(fds[0].fd, 0, &period, NULL);
	for (int n = 0; n < 500; n++) {
		if (wait_for_device(fds, 2))
			break;
		if (read(fds[0].fd, &periods, sizeof(periods)) < 0)
			continue;
		process();
	}
	close(fds[0].fd);
	close(fds[1].fd);
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_join(start("audio", 80, audio, NULL), NULL);
	return 0;
}
