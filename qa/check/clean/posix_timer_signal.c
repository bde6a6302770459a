#include "../rt.h"
#include <signal.h>

static void *control(void *unused)
{
	struct itimerspec period = { { 0, PERIOD }, { 0, PERIOD } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	timer_t timer;
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
	for (int n = 0; n < 600; n++) {
		sigwait(&set, &number);
		work();
	}
	timer_delete(timer);
	return unused;
}

int main(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	lock_memory();
	pthread_join(start("control", 92, control, NULL), NULL);
	return 0;
}
