#include "../rt.h"
#include <fcntl.h>
#include <stdatomic.h>

static int ring[1024];
static atomic_uint head, tail;
static atomic_int is_running = 1;

static void *logger(void *unused)
{
	char name[] = "/var/tmp/check-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w");
	unlink(name);
	while (is_running) {
		while (tail != head) {
			char *line = malloc(64);
			snprintf(line, 64, "%d\n", ring[tail % 1024]);
			fputs(line, file);
			free(line);
			tail++;
		}
		fflush(file);
		fsync(fd);
		usleep(10000);
	}
	fclose(file);
	return unused;
}

static void *control(void *unused)
{
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		ring[head % 1024] = n;
		head++;
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t other = start("logger", 0, logger, NULL);
	pthread_join(start("control", 92, control, NULL), NULL);
	is_running = 0;
	pthread_join(other, NULL);
	return 0;
}
