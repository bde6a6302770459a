// expect: allocation control step
// also: memory-map
#include "../rt.h"
#include <string>

static std::string status;

static void step(int n)
{
	status = "the temperature of the motor is " + std::to_string(n); // fault
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
