#include "../rt.h"
#include <semaphore.h>

static sem_t ready;

static void *driver(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		sem_post(&ready);
	}
	return unused;
}

static void *control(void *unused)
{
	for (int n = 0; n < 600; n++) {
		sem_wait(&ready);
		work();
	}
	return unused;
}

int main(void)
{
	sem_init(&ready, 0, 0);
	lock_memory();
	pthread_t below = start("control", 90, control, NULL);
	pthread_join(start("driver", 92, driver, NULL), NULL);
	pthread_join(below, NULL);
	return 0;
}
