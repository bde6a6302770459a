// expect: waits-for-less-urgent control push
// also: lock-shared lock-without-pi
#include "../rt.h"
#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

/* A log that loses nothing: a full queue makes the caller wait, as the default of asynchronous loggers is. */
class Log {
public:
	struct Message {
		int level;
		char text[120];
	};

	Log() : writer([this] { write(); }) {}

	~Log()
	{
		{
			std::lock_guard<std::mutex> lock(mutex);
			stop = true;
		}
		not_empty.notify_one();
		writer.join();
	}

	void info(const char *format, int value)
	{
		Message message;
		message.level = 2;
		snprintf(message.text, sizeof(message.text), format, value);
		push(message);
	}

private:
	void push(const Message &message)
	{
		std::unique_lock<std::mutex> lock(mutex);
		not_full.wait(lock, [this] { return head - tail < queue.size(); }); // fault
		queue[head++ % queue.size()] = message;
		not_empty.notify_one();
	}

	void write()
	{
		FILE *file = fopen("/dev/null", "w");
		std::unique_lock<std::mutex> lock(mutex);
		while (!stop || head != tail) {
			not_empty.wait(lock, [this] { return stop || head != tail; });
			while (head != tail) {
				Message message = queue[tail++ % queue.size()];
				not_full.notify_one();
				lock.unlock();
				fprintf(file, "[%d] %s\n", message.level, message.text);
				fflush(file);
				std::this_thread::sleep_for(std::chrono::milliseconds(1));
				lock.lock();
			}
		}
		fclose(file);
	}

	std::array<Message, 8> queue;
	size_t head = 0, tail = 0;
	bool stop = false;
	std::mutex mutex;
	std::condition_variable not_empty, not_full;
	std::thread writer;
};

static Log *logger;

static void *control(void *unused)
{
	timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		if (n % 20 == 0)
			for (int k = 0; k < 12; k++)
				logger->info("position %d", n + k);
	}
	return unused;
}

int main()
{
	Log log;
	logger = &log;
	lock_memory();
	pthread_join(start("control", 80, control, nullptr), nullptr);
}
