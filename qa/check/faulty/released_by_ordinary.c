// expect: woken-by-less-urgent control *
#include "../rt.h"
#include <semaphore.h>

static sem_t release;

static void *control(void *unused)
{
	for (int n = 0; n < 500; n++) {
		sem_wait(&release);
		work();
	}
	return unused;
}

int main(void)
{
	sem_init(&release, 0, 0);
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	struct timespec next = now();
	for (int n = 0; n < 500; n++) {
		wait_next(&next, PERIOD);
		sem_post(&release);
	}
	pthread_join(thread, NULL);
	return 0;
}
