/* The control step is the handler of SIGALRM. */
#include "../rt.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t cycles;

static void on_alarm(int number)
{
	(void)number;
	work();
	cycles++;
}

int main(void)
{
	struct sched_param param = { .sched_priority = 80 };
	struct itimerval period = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction action;
	cpu_set_t cpus;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	lock_memory();
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_FIFO, &param);
	setitimer(ITIMER_REAL, &period, NULL);
	while (cycles < 600)
		pause();
	return 0;
}
