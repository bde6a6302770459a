/* An event loop with a timer and with events that an ordinary thread posts, as asio has one. */
#include "../rt.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

class EventLoop {
public:
	using Handler = void (*)(EventLoop &, void *);

	EventLoop()
	{
		add(timer);
		add(wake);
	}

	~EventLoop()
	{
		close(timer);
		close(wake);
		close(all);
	}

	void expires_at(timespec time, Handler handler, void *data)
	{
		itimerspec spec = {{0, 0}, time};
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, nullptr);
		on_timer = handler;
		timer_data = data;
	}

	void stop()
	{
		is_stopped = true;
		post();
	}

	void post()
	{
		uint64_t one = 1;
		if (write(wake, &one, sizeof(one)) < 0)
			perror("eventfd");
	}

	void run()
	{
		std::array<epoll_event, 16> events;
		while (!is_stopped) {
			int ready = epoll_wait(all, events.data(), events.size(), -1);
			for (int n = 0; n < ready; n++) {
				uint64_t count;
				if (read(events[n].data.fd, &count, sizeof(count)) < 0)
					continue;
				if (events[n].data.fd == timer)
					on_timer(*this, timer_data);
			}
		}
	}

private:
	void add(int fd)
	{
		epoll_event event = {};
		event.events = EPOLLIN | EPOLLERR | EPOLLET;
		event.data.fd = fd;
		epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
	}

	int all = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	std::atomic<bool> is_stopped{false};
	Handler on_timer = nullptr;
	void *timer_data = nullptr;
};

struct Controller {
	timespec next;
	int cycles;
};

static void step(EventLoop &loop, void *data)
{
	auto &controller = *static_cast<Controller *>(data);
	work();
	controller.cycles++;
	controller.next.tv_nsec += PERIOD;
	if (controller.next.tv_nsec >= 1000000000L) {
		controller.next.tv_nsec -= 1000000000L;
		controller.next.tv_sec++;
	}
	loop.expires_at(controller.next, step, data);
}

static void *control(void *data)
{
	auto &loop = *static_cast<EventLoop *>(data);
	Controller controller = {now(), 0};
	loop.expires_at(controller.next, step, &controller);
	loop.run();
	return nullptr;
}

int main()
{
	EventLoop loop;
	lock_memory();
	pthread_t thread = start("control", 80, control, &loop);
	for (int n = 0; n < 180; n++) {
		usleep(7000);
		loop.post();
	}
	loop.stop();
	pthread_join(thread, nullptr);
}
