// expect: socket-io control step
// also: file-io allocation memory-map
#include "../rt.h"
#include <syslog.h>

static void step(int n)
{
	if (n % 50 == 0)
		syslog(LOG_WARNING, "cycle %d: axis not homed", n); // fault
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return unused;
}

int main(void)
{
	openlog("controller", LOG_PID, LOG_DAEMON);
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	closelog();
	return 0;
}
