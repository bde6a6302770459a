// expect: allocation control Recorder::add
// also: memory-map page-fault
#include "../rt.h"
#include <vector>

class Recorder {
	std::vector<double> samples;

public:
	void add(double value)
	{
		samples.push_back(value); // fault
	}
};

static Recorder recorder;

static void step(int n)
{
	recorder.add(n * 0.5);
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
