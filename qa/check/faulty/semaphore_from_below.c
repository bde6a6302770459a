// expect: waits-for-less-urgent control step
#include "../rt.h"
#include <semaphore.h>

static sem_t asked, answered;

static void *server(void *unused)
{
	for (;;) {
		sem_wait(&asked);
		work();
		sem_post(&answered);
	}
	return unused;
}

static void step(int n)
{
	if (n % 3)
		return;
	sem_post(&asked);
	sem_wait(&answered); // fault
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
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	lock_memory();
	start("server", 0, server, NULL);
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
