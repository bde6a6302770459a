// expect: allocation control step
// also: memory-map
#include "../rt.h"
#include <memory>

struct Command {
	int torque[8];
};

static std::shared_ptr<Command> current;

static void step(int n)
{
	current = std::make_shared<Command>(); // fault
	current->torque[0] = n;
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
