// expect: lock-shared control submit
// also: allocation lock-without-pi memory-map
#include "../rt.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

/* The thread pool of many answers on the web: a queue of functions, a mutex and a condition variable. */
class ThreadPool {
public:
	explicit ThreadPool(size_t size)
	{
		for (size_t n = 0; n < size; n++)
			workers.emplace_back([this] { run(); });
	}

	~ThreadPool()
	{
		{
			std::unique_lock<std::mutex> lock(mutex);
			stop = true;
		}
		condition.notify_all();
		for (auto &worker : workers)
			worker.join();
	}

	void submit(std::function<void()> job)
	{
		std::unique_lock<std::mutex> lock(mutex); // fault
		jobs.push(std::move(job));
		lock.unlock();
		condition.notify_one();
	}

private:
	void run()
	{
		for (;;) {
			std::unique_lock<std::mutex> lock(mutex);
			condition.wait(lock, [this] { return stop || !jobs.empty(); });
			if (jobs.empty())
				return;
			auto job = std::move(jobs.front());
			jobs.pop();
			lock.unlock();
			job();
		}
	}

	std::vector<std::thread> workers;
	std::queue<std::function<void()>> jobs;
	std::mutex mutex;
	std::condition_variable condition;
	bool stop = false;
};

static ThreadPool *pool;
static double sum[4];

static void *control(void *unused)
{
	timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		if (n % 4 == 0)
			pool->submit([n] { sum[n % 4] += n; });
	}
	return unused;
}

int main()
{
	ThreadPool all(2);
	pool = &all;
	lock_memory();
	pthread_join(start("control", 80, control, nullptr), nullptr);
}
