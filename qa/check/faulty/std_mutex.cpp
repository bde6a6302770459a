// expect: lock-without-pi control step
#include "../rt.h"
#include <atomic>
#include <mutex>
#include <thread>

static std::mutex state;
static std::atomic<bool> is_running{true};

static void *logger(void *unused)
{
	while (is_running) {
		{
			std::lock_guard<std::mutex> guard(state);
			std::this_thread::sleep_for(std::chrono::microseconds(1500));
		}
		std::this_thread::sleep_for(std::chrono::microseconds(1700));
	}
	return unused;
}

static void step(int)
{
	std::lock_guard<std::mutex> guard(state); // fault
	work();
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
	pthread_t other = start("logger", 0, logger, nullptr);
	pthread_t thread = start("control", 92, control, nullptr);
	pthread_join(thread, nullptr);
	is_running = false;
	pthread_join(other, nullptr);
	return 0;
}
