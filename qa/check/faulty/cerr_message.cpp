// expect: output control step
#include "../rt.h"
#include <iostream>

static void step(int n)
{
	if (n % 10 == 0)
		std::cerr << "late by " << n << std::endl; // fault
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
