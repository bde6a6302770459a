/*
 * Each sleep lasts until the next instant of a grid, by the clock, as in jackd's dummy driver. A more urgent thread makes
 * every fifth wakeup late.
 */
#include "../rt.h"

static struct timespec begin;

static void *urgent(void *unused)
{
	struct timespec next = begin;

	for (int n = 0; n < 180; n++) {
		wait_next(&next, 5 * PERIOD);
		for (int k = 0; k < 10; k++)
			work();
	}
	return unused;
}

static long until(const struct timespec *next)
{
	struct timespec time = now();

	return (next->tv_sec - time.tv_sec) * 1000000L + (next->tv_nsec - time.tv_nsec) / 1000;
}

static void *control(void *unused)
{
	struct timespec next = begin;

	for (int n = 0; n < 900; n++) {
		long left;

		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		left = until(&next);
		if (left > 0)
			usleep(left);
		for (int k = 0; k <= n % 7 * 3; k++)
			work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	begin = now();
	pthread_t other = start("urgent", 90, urgent, NULL);
	pthread_join(start("control", 80, control, NULL), NULL);
	pthread_join(other, NULL);
	return 0;
}
