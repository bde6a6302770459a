/* Two processes share memory and semaphores; the more urgent one releases the other. */
#include "../rt.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/wait.h>

struct shared {
	sem_t filled;
	double values[64];
	volatile unsigned written;
	volatile int stop;
};

static struct shared *shared;

static void *producer(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		shared->values[shared->written % 64] = n * 0.5;
		shared->written++;
		sem_post(&shared->filled);
	}
	shared->stop = 1;
	sem_post(&shared->filled);
	return unused;
}

static void *consumer(void *unused)
{
	double sum = 0;

	while (!shared->stop) {
		sem_wait(&shared->filled);
		sum += shared->values[(shared->written - 1) % 64];
		work();
	}
	return sum < 0 ? NULL : unused;
}

int main(void)
{
	char name[64];
	snprintf(name, sizeof(name), "/check-%d", getpid());
	int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	shm_unlink(name);
	sem_init(&shared->filled, 1, 0);
	pid_t child = fork();
	lock_memory();
	if (child == 0) {
		pthread_join(start("consumer", 70, consumer, NULL), NULL);
		_exit(0);
	}
	usleep(20000);
	pthread_join(start("producer", 80, producer, NULL), NULL);
	waitpid(child, NULL, 0);
	return 0;
}
