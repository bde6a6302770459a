// expect: period-drifts control control
// also: timer-slack
#include "../rt.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

static std::mutex mutex;
static std::condition_variable stop;
static bool is_stopped;

static void *control(void *unused)
{
	std::unique_lock<std::mutex> lock(mutex);
	for (int n = 0; n < 500; n++) {
		for (int k = 0; k <= n % 7; k++)
			work();
		if (stop.wait_for(lock, std::chrono::milliseconds(2), [] { return is_stopped; })) // fault
			break;
	}
	return unused;
}

int main()
{
	lock_memory();
	pthread_join(start("control", 80, control, nullptr), nullptr);
}
