#include "../rt.h"
#include <vector>

static std::vector<double> samples;

static void *control(void *unused)
{
	timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		samples.push_back(n);
		work();
	}
	return unused;
}

int main()
{
	samples.reserve(1000);
	lock_memory();
	pthread_join(start("control", 92, control, nullptr), nullptr);
	return 0;
}
