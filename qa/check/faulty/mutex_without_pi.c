// expect: lock-without-pi control step
#include "../rt.h"

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_running = 1;

static void *logger(void *unused)
{
	while (is_running) {
		pthread_mutex_lock(&state);
		usleep(1500);
		pthread_mutex_unlock(&state);
		usleep(1700);
	}
	return unused;
}

static void step(int n)
{
	(void)n;
	pthread_mutex_lock(&state); // fault
	work();
	pthread_mutex_unlock(&state);
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
	lock_memory();
	pthread_t other = start("logger", 0, logger, NULL);
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	is_running = 0;
	pthread_join(other, NULL);
	return 0;
}
