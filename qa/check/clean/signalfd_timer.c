#include "../rt.h"
#include <signal.h>
#include <sys/signalfd.h>

static int signals;

static void *control(void *unused)
{
	struct itimerspec period = { { 0, PERIOD }, { 0, PERIOD } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1 };
	struct signalfd_siginfo info;
	timer_t timer;

	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
	for (int n = 0; n < 600; n++) {
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			break;
		work();
	}
	timer_delete(timer);
	return unused;
}

int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	close(signals);
	return 0;
}
