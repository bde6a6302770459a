// expect: lock-without-pi control read_state
#include "../rt.h"
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

struct State {
	double position, velocity;
};

static std::shared_mutex guard;
static State state;
static std::atomic<bool> is_running{true};

static void update()
{
	while (is_running) {
		{
			std::unique_lock lock(guard);
			state.position += 0.1;
			std::this_thread::sleep_for(std::chrono::microseconds(1500));
		}
		std::this_thread::sleep_for(std::chrono::microseconds(1700));
	}
}

static State read_state()
{
	std::shared_lock lock(guard); // fault
	return state;
}

static void *control(void *unused)
{
	timespec next = now();
	double sum = 0;
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		sum += read_state().position;
		work();
	}
	return sum < 0 ? nullptr : unused;
}

int main()
{
	lock_memory();
	std::thread other(update);
	pthread_join(start("control", 80, control, nullptr), nullptr);
	is_running = false;
	other.join();
}
