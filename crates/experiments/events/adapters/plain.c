/* The smallest adapter, for plain Linux: an example and a test of adapter.h. The suite uses the posix backend. */
#define _GNU_SOURCE
#include "adapter.h"
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

const char *adapter_name = "plain";

void adapter_facts(void)
{
	printf("fact clock CLOCK_MONOTONIC\n");
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long faults(void)
{
	struct rusage u;
	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_minflt + u.ru_majflt;
}

static int periodic(const struct plan *p, struct book *b, struct answer *a)
{
	uint64_t first = now() + 1000000;
	long before = 0;
	for (uint64_t n = 0; n < p->events;) {
		uint64_t due = first + n * p->interval_ns;
		struct timespec t = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };
		int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		if (error == EINTR)
			continue;
		if (error)
			return failed(a, "clock_nanosleep", error);
		uint64_t woke = now(), count = 1 + late(woke, due) / p->interval_ns;
		if (n == 0)
			before = faults();
		if (count > p->events - n)
			count = p->events - n;
		book_arrival(b, n, count, late(woke, due));
		n += count;
	}
	b->sent = p->events;
	b->faults = faults() - before;
	return 0;
}

int adapter_run(const struct plan *p, struct book *b, struct answer *a)
{
	if (p->interval_ns && !strncmp(p->test, "periodic", 8))
		return periodic(p, b, a);
	return unsupported(a, "the plain adapter has periodic tests only");
}

int main(void)
{
	return adapter_main();
}
