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

/* Jobs of 1 ms that end with sched_yield(2), for more than 950 ms of CPU time in all. */
int main(void)
{
	struct dl_attr attr = { .size = sizeof(attr), .policy = 6, .runtime = 2000000, .deadline = 4000000, .period = 4000000 };

	pthread_setname_np(pthread_self(), "dl");
	lock_memory();
	if (syscall(SYS_sched_setattr, 0, &attr, 0)) {
		perror("sched_setattr");
		return 2;
	}
	for (int n = 0; n < 1200; n++) {
		struct timespec begun = now(), t;
		do
			t = now();
		while ((t.tv_sec - begun.tv_sec) * 1000000000L + t.tv_nsec - begun.tv_nsec < 1000000L);
		sched_yield();
	}
	return 0;
}
