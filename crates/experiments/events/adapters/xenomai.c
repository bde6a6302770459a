/* Xenomai 3 with the Alchemy API (alchemy/task.h, timer.h, queue.h of libalchemy): the Cobalt core, or Mercury, which
 * provides the same API on plain Linux.
 * Build: cc $(xeno-config --skin=alchemy --cflags) xenomai.c $(xeno-config --skin=alchemy --ldflags). */
#include "adapter.h"
#include <alchemy/queue.h>
#include <alchemy/task.h>
#include <alchemy/timer.h>
#include <errno.h>
#include <sys/mman.h>
#include <xenomai/version.h>

const char *adapter_name = "xenomai";

void adapter_facts(void)
{
	printf("fact interface alchemy, Xenomai %s\n", XENO_VERSION_STRING);
#ifdef CONFIG_XENO_COBALT
	printf("fact core Cobalt\n");
#else
	printf("fact core Mercury: threads of plain Linux, no co-kernel\n");
#endif
}

/* Input and results of a task. */
struct work {
	const struct plan *plan;
	struct book *book;
	RT_QUEUE *queue;
	const char *what;
	int error;
};

/* Switches to Linux, unwanted in the loop. Only Cobalt counts them, in struct threadobj_stat. */
static int64_t mode_switches(void)
{
#ifdef CONFIG_XENO_COBALT
	RT_TASK_INFO info;
	return rt_task_inquire(NULL, &info) ? -1 : (int64_t)info.stat.msw;
#else
	return -1;
#endif
}

static void end_switches(struct work *w, int64_t before)
{
	int64_t after = mode_switches();
	w->book->switches = before < 0 || after < 0 ? -1 : after - before;
}

static void periodic(void *arg)
{
	struct work *w = arg;
	const struct plan *p = w->plan;
	RTIME first = rt_timer_read() + 1000000;
	w->what = "rt_task_set_periodic";
	w->error = rt_task_set_periodic(NULL, first, p->interval_ns);
	int64_t before = mode_switches();
	for (uint64_t n = 0; !w->error && n < p->events;) {
		unsigned long overruns = 0;
		int error = rt_task_wait_period(&overruns);
		RTIME woke = rt_timer_read();
		if (error == -EINTR)
			continue;
		if (error && error != -ETIMEDOUT) {
			w->what = "rt_task_wait_period";
			w->error = error;
			break;
		}
		uint64_t count = 1 + overruns;
		if (count > p->events - n)
			count = p->events - n;
		book_arrival(w->book, n, count, late(woke, first + n * p->interval_ns));
		n += count;
	}
	w->book->sent = p->events;
	end_switches(w, before);
}

/* Uneven distances, as in alarm_at of crates/experiments/events/src/backend.rs. */
static uint64_t alarm_at(uint64_t number, uint64_t interval)
{
	static const uint64_t quarters[] = { 1, 3, 0, 2, 3, 0, 2, 1 };
	return (number + 1) * interval + quarters[number % 8] * interval / 4;
}

static void alarms(void *arg)
{
	struct work *w = arg;
	const struct plan *p = w->plan;
	RTIME epoch = rt_timer_read() + 5000000;
	int64_t before = mode_switches();
	for (uint64_t n = 0; n < p->events; n++) {
		RTIME due = epoch + alarm_at(n, p->interval_ns);
		int error = rt_task_sleep_until(due);
		/* ETIMEDOUT: the time has passed already, and the call returns at once. */
		if (error && error != -ETIMEDOUT) {
			w->what = "rt_task_sleep_until";
			w->error = error;
			break;
		}
		book_arrival(w->book, n, 1, late(rt_timer_read(), due));
		w->book->sent = n + 1;
	}
	end_switches(w, before);
}

/* A message: its number, and when it was sent. */
struct message {
	uint64_t number, sent_ns;
};

static void take(void *arg)
{
	struct work *w = arg;
	int64_t before = mode_switches();
	for (;;) {
		struct message m;
		ssize_t got = rt_queue_read(w->queue, &m, sizeof(m), 1000000000);
		if (got == -ETIMEDOUT || (got == sizeof(m) && m.number == UINT64_MAX))
			break;
		if (got != sizeof(m)) {
			w->what = "rt_queue_read";
			w->error = got < 0 ? (int)got : -EIO;
			break;
		}
		book_arrival(w->book, m.number, 1, late(rt_timer_read(), m.sent_ns));
	}
	end_switches(w, before);
}

static void send_numbers(void *arg)
{
	struct work *w = arg;
	const struct plan *p = w->plan;
	w->what = "rt_task_set_periodic";
	w->error = rt_task_set_periodic(NULL, TM_NOW, p->interval_ns);
	for (uint64_t n = 0; !w->error && n < p->events; n++) {
		int error = rt_task_wait_period(NULL);
		struct message m = { n, rt_timer_read() };
		if (!error || error == -ETIMEDOUT)
			error = rt_queue_write(w->queue, &m, sizeof(m), Q_NORMAL);
		if (error == -ENOMEM) {
			w->book->overflowed++;
		} else if (error < 0) {
			w->what = "rt_queue_write";
			w->error = error;
			break;
		}
		w->book->sent = n + 1;
	}
	struct message last = { UINT64_MAX, 0 };
	rt_queue_write(w->queue, &last, sizeof(last), Q_NORMAL);
}

static int start(RT_TASK *task, const char *name, int priority, int cpu, void (*body)(void *), struct work *w,
		 struct answer *a)
{
	int error = rt_task_create(task, name, 0, priority, T_JOINABLE);
	if (error)
		return failed(a, "rt_task_create", error);
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		error = rt_task_set_affinity(task, &set);
	}
	if (!error)
		error = rt_task_start(task, body, w);
	if (error) {
		rt_task_delete(task);
		return failed(a, "rt_task_start", error);
	}
	return 0;
}

static int alone(void (*body)(void *), const struct plan *p, struct book *b, struct answer *a)
{
	RT_TASK task;
	struct work w = { p, b, NULL, "", 0 };
	int bad = start(&task, "punctual-task", p->priority, p->cpu, body, &w, a);
	if (!bad)
		rt_task_join(&task);
	return bad ? bad : w.error ? failed(a, w.what, w.error) : 0;
}

static int queue(const struct plan *p, struct book *b, struct answer *a)
{
	RT_QUEUE queue;
	RT_TASK taker, sender;
	int error = rt_queue_create(&queue, NULL, 64 * 1024, 256, Q_FIFO);
	if (error)
		return failed(a, "rt_queue_create", error);
	struct work in = { p, b, &queue, "", 0 }, out = in;
	int bad = start(&taker, "punctual-take", p->priority, p->cpu, take, &in, a);
	if (!bad) {
		bad = start(&sender, "punctual-send", p->priority + 1, -1, send_numbers, &out, a);
		if (!bad)
			rt_task_join(&sender);
		rt_task_join(&taker);
	}
	rt_queue_delete(&queue);
	if (bad)
		return bad;
	return out.error ? failed(a, out.what, out.error) : in.error ? failed(a, in.what, in.error) : 0;
}

int adapter_run(const struct plan *p, struct book *b, struct answer *a)
{
	if (p->interval_ns && !strncmp(p->test, "periodic", 8))
		return alone(periodic, p, b, a);
	if (!strcmp(p->test, "alarms"))
		return alone(alarms, p, b, a);
	if (!strcmp(p->test, "queue"))
		return queue(p, b, a);
	return unsupported(a, "the alchemy adapter has periodic, alarms and queue");
}

int main(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(stderr, "mlockall: %s\n", strerror(errno));
	return adapter_main();
}
