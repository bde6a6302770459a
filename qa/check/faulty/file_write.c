// expect: file-io control step
#include "../rt.h"

static int log_file;

static void step(int n)
{
	char line[32];
	int length = snprintf(line, sizeof(line), "%d\n", n);
	if (write(log_file, line, length) < 0) // fault
		return;
}

static void *control(void *unused)
{
	(void)unused;
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return NULL;
}

int main(void)
{
	char name[] = "/var/tmp/check-XXXXXX";
	log_file = mkstemp(name);
	unlink(name);
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
