/* EVL (Xenomai 4), libevl. Build: cc $(pkg-config --cflags evl) evl.c $(pkg-config --libs evl). */
#define _GNU_SOURCE
#include "adapter.h"
#include <errno.h>
#include <evl/clock.h>
#include <evl/sched.h>
#include <evl/thread.h>
#include <evl/timer.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

/* EVL_CONTROL_DEV of evl/control-abi.h; exists while the core runs. */
#define CONTROL "/dev/evl/control"

const char *adapter_name = "evl";

void adapter_facts(void)
{
	printf("fact interface libevl\n");
}

struct work {
	const struct plan *plan;
	struct book *book;
	const char *what;
	int error;
};

static uint64_t now(void)
{
	struct timespec t;
	evl_read_clock(EVL_CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* isw of struct evl_thread_state: switches to the in-band stage, unwanted in the loop. */
static int64_t mode_switches(int thread)
{
	struct evl_thread_state state;
	return evl_get_state(thread, &state) ? -1 : (int64_t)state.isw;
}

static uint64_t alarm_at(uint64_t number, uint64_t interval)
{
	static const uint64_t quarters[] = { 1, 3, 0, 2, 3, 0, 2, 1 };
	return (number + 1) * interval + quarters[number % 8] * interval / 4;
}

static struct timespec instant(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

/* Returns a timer that expires at `first` and then every interval; -1: the work has the error. */
static int start_timer(struct work *w, uint64_t first)
{
	int timer = evl_new_timer(EVL_CLOCK_MONOTONIC);
	w->what = "evl_new_timer";
	w->error = timer < 0 ? timer : 0;
	if (w->error)
		return -1;
	struct itimerspec grid = { .it_value = instant(first), .it_interval = instant(w->plan->interval_ns) };
	w->what = "evl_set_timer";
	w->error = evl_set_timer(timer, &grid, NULL);
	return timer;
}

/* Waits for the timer, or without one until `due`. Returns the number of events; 0: the work has the error. */
static uint64_t next(struct work *w, int timer, uint64_t due)
{
	uint64_t count = 1;
	if (timer < 0) {
		struct timespec t = instant(due);
		w->what = "evl_sleep_until";
		w->error = evl_sleep_until(EVL_CLOCK_MONOTONIC, &t);
	} else {
		ssize_t got = oob_read(timer, &count, sizeof(count));
		w->what = "oob_read of a timer";
		w->error = got == sizeof(count) ? 0 : got < 0 ? -errno : -EIO;
	}
	return w->error ? 0 : count;
}

/* Periodic releases use an EVL timer, alarms use evl_sleep_until. */
static void loop(struct work *w, int thread)
{
	const struct plan *p = w->plan;
	int is_alarm = !strcmp(p->test, "alarms");
	uint64_t first = now() + 1000000;
	int timer = is_alarm ? -1 : start_timer(w, first);
	int64_t before = mode_switches(thread);
	for (uint64_t n = 0; !w->error && n < p->events;) {
		uint64_t due = first + (is_alarm ? alarm_at(n, p->interval_ns) : n * p->interval_ns);
		uint64_t count = next(w, timer, due);
		if (!count)
			break;
		if (count > p->events - n)
			count = p->events - n;
		book_arrival(w->book, n, count, late(now(), due));
		n += count;
		w->book->sent = n;
	}
	int64_t after = mode_switches(thread);
	w->book->switches = before < 0 || after < 0 ? -1 : after - before;
	if (timer >= 0)
		close(timer);
}

static void *body(void *arg)
{
	struct work *w = arg;
	int thread = evl_attach_self("punctual:%d", getpid());
	w->what = "evl_attach_self";
	w->error = thread < 0 ? thread : 0;
	if (w->error)
		return NULL;
	struct evl_sched_attrs attrs = { .sched_policy = SCHED_FIFO, .sched_priority = w->plan->priority };
	w->what = "evl_set_schedattr";
	w->error = evl_set_schedattr(thread, &attrs);
	if (!w->error)
		loop(w, thread);
	evl_detach_self();
	return NULL;
}

int adapter_run(const struct plan *p, struct book *b, struct answer *a)
{
	if (!p->interval_ns || (strncmp(p->test, "periodic", 8) && strcmp(p->test, "alarms")))
		return unsupported(a, "the EVL adapter has periodic and alarms");
	if (access(CONTROL, F_OK))
		return unsupported(a, "no " CONTROL ": boot a kernel with the EVL core (CONFIG_EVL)");
	struct work w = { p, b, "", 0 };
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	if (p->cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(p->cpu, &set);
		pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	}
	int error = pthread_create(&thread, &attributes, body, &w);
	pthread_attr_destroy(&attributes);
	if (error)
		return failed(a, "pthread_create", error);
	pthread_join(thread, NULL);
	return w.error ? failed(a, w.what, w.error) : 0;
}

int main(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(stderr, "mlockall: %s\n", strerror(errno));
	return adapter_main();
}
