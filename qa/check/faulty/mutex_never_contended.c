// expect: lock-shared control step
#include "../rt.h"

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

static void *logger(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&state);
		pthread_mutex_unlock(&state);
		usleep(50000);
	}
	return unused;
}

static void step(int n)
{
	(void)n;
	pthread_mutex_lock(&state); // fault
	pthread_mutex_unlock(&state);
}

static void *control(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		step(n);
	}
	return unused;
}

int main(void)
{
	lock_memory();
	start("logger", 0, logger, NULL);
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
