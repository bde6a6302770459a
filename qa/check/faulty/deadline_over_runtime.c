// expect: overrun dl *
// also: affinity-missing migration
#include "../rt.h"
#include <stdint.h>
#include <sys/syscall.h>

struct dl_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

int main(void)
{
	struct dl_attr attr = { .size = sizeof(attr), .policy = 6, .runtime = 500000, .deadline = 10000000, .period = 10000000 };

	pthread_setname_np(pthread_self(), "dl");
	lock_memory();
	if (syscall(SYS_sched_setattr, 0, &attr, 0)) {
		perror("sched_setattr");
		return 2;
	}
	for (int n = 0; n < 100; n++) {
		struct timespec begun = now(), t;
		do
			t = now();
		while (n % 5 == 0 && (t.tv_sec - begun.tv_sec) * 1000000000L + t.tv_nsec - begun.tv_nsec < 25000000L);
		sched_yield();
	}
	return 0;
}
