// expect: period-drifts control control
#include "../rt.h"
#include <chrono>
#include <thread>

static void *control(void *unused)
{
	using namespace std::chrono_literals;

	for (int n = 0; n < 600; n++) {
		for (int k = 0; k <= n % 7 * 4; k++)
			work();
		std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2ms); // fault
	}
	return unused;
}

int main()
{
	lock_memory();
	pthread_join(start("control", 80, control, nullptr), nullptr);
}
