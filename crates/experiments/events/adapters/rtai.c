/* RTAI with LXRT (rtai_lxrt.h). Build: cc $(rtai-config --lxrt-cflags) rtai.c $(rtai-config --lxrt-ldflags). */
#include "adapter.h"
#include <errno.h>
#include <rtai_lxrt.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

/* Exists while rtai_sched.ko is loaded. */
#define SCHEDULER "/proc/rtai/scheduler"

const char *adapter_name = "rtai";

void adapter_facts(void)
{
	printf("fact interface LXRT, oneshot timer\n");
}

static uint64_t alarm_at(uint64_t number, uint64_t interval)
{
	static const uint64_t quarters[] = { 1, 3, 0, 2, 3, 0, 2, 1 };
	return (number + 1) * interval + quarters[number % 8] * interval / 4;
}

/* Mode switches remain unknown, because LXRT does not report them. */
int adapter_run(const struct plan *p, struct book *b, struct answer *a)
{
	int is_alarm = !strcmp(p->test, "alarms");
	if (!p->interval_ns || (strncmp(p->test, "periodic", 8) && !is_alarm))
		return unsupported(a, "the RTAI adapter has periodic and alarms");
	/* Checked first: without RTAI's modules its calls return whatever is on the stack (rtai_lxrt() in asm/rtai_lxrt.h). */
	if (access(SCHEDULER, F_OK))
		return unsupported(a, "no " SCHEDULER ": boot an RTAI kernel and load rtai_hal and rtai_sched (insmod, as root)");
	if (p->cpu > 30)
		return unsupported(a, "RTAI's set of CPUs is an int: --cpu up to 30");
	/* In RTAI, 0 is the highest priority. */
	RT_TASK *task = rt_task_init_schmod(nam2num("PNCTL"), 99 - p->priority, 0, 0, SCHED_FIFO,
					    p->cpu >= 0 ? 1 << p->cpu : 0xff);
	if (!task)
		return failed(a, "rt_task_init_schmod", ENOMEM);
	rt_set_oneshot_mode();
	start_rt_timer(0);
	rt_make_hard_real_time();
	const char *why = NULL;
	uint64_t first = rt_get_time_ns() + 1000000;
	for (uint64_t n = 0; n < p->events;) {
		uint64_t due = first + (is_alarm ? alarm_at(n, p->interval_ns) : n * p->interval_ns);
		/* RTE_TMROVRN: the time has passed already, and the call returns at once. */
		if (rt_sleep_until(nano2count(due)) == RTE_UNBLKD) {
			why = "rt_sleep_until: the task was unblocked before its time (RTE_UNBLKD), a signal does that";
			break;
		}
		uint64_t lateness = late(rt_get_time_ns(), due);
		uint64_t count = is_alarm ? 1 : 1 + lateness / p->interval_ns;
		if (count > p->events - n)
			count = p->events - n;
		book_arrival(b, n, count, lateness);
		n += count;
		b->sent = n;
	}
	rt_make_soft_real_time();
	stop_rt_timer();
	rt_task_delete(task);
	return why ? failed(a, why, EINTR) : 0;
}

int main(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(stderr, "mlockall: %s\n", strerror(errno));
	return adapter_main();
}
