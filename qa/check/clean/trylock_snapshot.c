/* The real-time thread takes the new settings if the mutex is free, and goes on with the old ones otherwise. */
#include "../rt.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static double shared_gain = 1;
static volatile int is_running = 1;

static void *settings(void *unused)
{
	while (is_running) {
		pthread_mutex_lock(&guard);
		shared_gain += 0.01;
		usleep(800);
		pthread_mutex_unlock(&guard);
		usleep(1300);
	}
	return unused;
}

static void *control(void *unused)
{
	struct timespec next = now();
	double gain = 1, sum = 0;

	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		if (pthread_mutex_trylock(&guard) == 0) {
			gain = shared_gain;
			pthread_mutex_unlock(&guard);
		}
		sum += gain;
		work();
	}
	return sum < 0 ? NULL : unused;
}

int main(void)
{
	lock_memory();
	pthread_t other = start("settings", 0, settings, NULL);
	pthread_join(start("control", 80, control, NULL), NULL);
	is_running = 0;
	pthread_join(other, NULL);
	return 0;
}
