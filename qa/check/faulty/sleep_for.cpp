// expect: relative-sleep control control
#include "../rt.h"
#include <chrono>
#include <thread>

static void *control(void *unused)
{
	for (int n = 0; n < 500; n++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(2)); // fault
		work();
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
