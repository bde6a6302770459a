/* A std::thread becomes real-time from outside; a ring of atomics hands its values to a logger. */
#include "../rt.h"
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

template <typename T> class Ring {
public:
	explicit Ring(size_t size) : slots(size) {}

	bool push(const T &value)
	{
		size_t at = head.load(std::memory_order_relaxed);
		if (at - tail.load(std::memory_order_acquire) == slots.size())
			return false;
		slots[at % slots.size()] = value;
		head.store(at + 1, std::memory_order_release);
		return true;
	}

	bool pop(T &value)
	{
		size_t at = tail.load(std::memory_order_relaxed);
		if (at == head.load(std::memory_order_acquire))
			return false;
		value = slots[at % slots.size()];
		tail.store(at + 1, std::memory_order_release);
		return true;
	}

private:
	std::vector<T> slots;
	std::atomic<size_t> head{0}, tail{0};
};

struct Sample {
	int cycle;
	double position;
};

class Controller {
public:
	virtual ~Controller() = default;
	virtual double update(double position) = 0;
};

class Proportional : public Controller {
public:
	double update(double position) override { return -0.5 * position; }
};

int main()
{
	auto controller = std::make_unique<Proportional>();
	Ring<Sample> ring(1024);
	std::atomic<bool> is_ready{false}, is_running{true};
	lock_memory();

	std::thread loop([&] {
		while (!is_ready)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		timespec next = now();
		double position = 1;
		for (int n = 0; n < 600; n++) {
			wait_next(&next, PERIOD);
			position += controller->update(position);
			work();
			ring.push({n, position});
		}
	});
	std::thread logger([&] {
		std::ofstream file("/dev/null");
		Sample sample;
		while (is_running) {
			while (ring.pop(sample))
				file << sample.cycle << ' ' << sample.position << '\n';
			file.flush();
			std::this_thread::sleep_for(std::chrono::milliseconds(20));
		}
	});

	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_param param = {.sched_priority = 80};
	pthread_setname_np(loop.native_handle(), "loop");
	pthread_setaffinity_np(loop.native_handle(), sizeof(cpus), &cpus);
	if (pthread_setschedparam(loop.native_handle(), SCHED_FIFO, &param))
		std::cerr << "no real-time policy\n";
	is_ready = true;
	loop.join();
	is_running = false;
	logger.join();
}
