// expect: allocation control check
// also: file-io memory-map page-fault lock-without-pi
#include "../rt.h"
#include <stdexcept>

static __attribute__((noinline)) void check(int n)
{
	if (n % 10 == 0)
		throw std::runtime_error("over current"); // fault
}

static void step(int n)
{
	try {
		check(n);
	} catch (const std::exception &) {
	}
}

static void *control(void *unused)
{
	timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return unused;
}

int main()
{
	lock_memory();
	pthread_t thread = start("control", 92, control, nullptr);
	pthread_join(thread, nullptr);
	
	return 0;
}
