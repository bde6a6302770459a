#include "../rt.h"
#include <array>
#include <chrono>
#include <thread>

static std::array<double, 1000> samples;

static void *control(void *unused)
{
	auto next = std::chrono::steady_clock::now();
	for (int n = 0; n < 600; n++) {
		next += std::chrono::milliseconds(2);
		std::this_thread::sleep_until(next);
		samples[n] = n * 0.5;
		work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, nullptr);
	pthread_join(thread, nullptr);
	return 0;
}
