#include "../rt.h"

static pthread_mutex_t state;
static volatile int is_running = 1;

static void *logger(void *unused)
{
	while (is_running) {
		pthread_mutex_lock(&state);
		for (int n = 0; n < 20; n++)
			work();
		pthread_mutex_unlock(&state);
		usleep(700);
	}
	return unused;
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		pthread_mutex_lock(&state);
		work();
		pthread_mutex_unlock(&state);
	}
	return unused;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&state, &attr);
	lock_memory();
	pthread_t other = start("logger", 0, logger, NULL);
	pthread_join(start("control", 92, control, NULL), NULL);
	is_running = 0;
	pthread_join(other, NULL);
	return 0;
}
