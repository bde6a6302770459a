// SPDX-License-Identifier: GPL-2.0
/*
 * Disables interrupts or preemption, holds a spinlock, or keeps an IPI, irq_work, the stopper or the idle loop busy, in functions with known
 * names, at each write of "KIND MICROSECONDS CPU" to /dev/hold. For each write except those of the spinlock, a read returns the start and
 * the end of the write, the requested time, the start and the end of the section, and of each time of 200 us in it without a clock reading;
 * CLOCK_MONOTONIC, ns. For `cargo trials sections` and `injected`.
 */
#include <linux/module.h>
#include <linux/miscdevice.h>
#include <linux/fs.h>
#include <linux/uaccess.h>
#include <linux/ktime.h>
#include <linux/irq_work.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/spinlock.h>
#include <linux/slab.h>
#include <linux/delay.h>
#include <linux/cpuidle.h>
#include <trace/events/power.h>

static DEFINE_RAW_SPINLOCK(hold_lock);
#define GAPS 64
static struct { u64 called, returned, us, held[2], gap[GAPS][2]; int gaps; } hold_log[512], now;
static int hold_n;

static noinline void hold_spin(u64 us)
{
	u64 start = ktime_get_mono_fast_ns(), last = start, t = start;
	now.gaps = 0;
	for (; t < start + us * 1000; last = t) {
		barrier();
		t = ktime_get_mono_fast_ns();
		if (t - last > 200 * NSEC_PER_USEC && now.gaps < GAPS) { now.gap[now.gaps][0] = last; now.gap[now.gaps++][1] = t; }
	}
	now.held[0] = start;
	now.held[1] = t;
}
noinline void hold_irqs_alpha(u64 us) { unsigned long f; local_irq_save(f); hold_spin(us); local_irq_restore(f); barrier(); }
noinline void hold_irqs_beta(u64 us) { unsigned long f; raw_spin_lock_irqsave(&hold_lock, f); hold_spin(us); raw_spin_unlock_irqrestore(&hold_lock, f); barrier(); }
noinline void hold_irqs_gamma(u64 us) { local_irq_disable(); hold_spin(us); local_irq_enable(); barrier(); }
noinline void hold_preempt_delta(u64 us) { preempt_disable(); hold_spin(us); preempt_enable(); barrier(); }
noinline void hold_preempt_epsilon(u64 us) { raw_spin_lock(&hold_lock); hold_spin(us); raw_spin_unlock(&hold_lock); barrier(); }
/* Sleeps on PREEMPT_RT. */
static DEFINE_SPINLOCK(hold_sleeping);
noinline void hold_lock_zeta(u64 us) { spin_lock(&hold_sleeping); hold_spin(us); spin_unlock(&hold_sleeping); barrier(); }
static void hold_ipi_handler(void *us) { hold_spin((u64)us); }
static u64 work_us;
static void hold_work_handler(struct irq_work *w) { hold_spin(work_us); }
static struct irq_work hold_work;
static int hold_stopper(void *us) { hold_spin((u64)us); return 0; }

/* What to do the next time that a CPU is idle. */
static struct { int how; unsigned cpu; u64 us; } idle;
enum { NOT, IN_STATE, IN_LOOP };

static bool hold_idle(int how)
{
	if (READ_ONCE(idle.how) != how || raw_smp_processor_id() != idle.cpu) return false;
	hold_spin(idle.us);
	smp_store_release(&idle.how, NOT);
	return true;
}
#ifdef CONFIG_ARM64
/* WFI also returns for a masked interrupt. */
static void hold_halt(void) { asm volatile("dsb sy\n\twfi" ::: "memory"); }
#else
static void hold_halt(void) { raw_safe_halt(); raw_local_irq_disable(); }
#endif
/* An idle state that is left late. Interrupts stay off, as with MWAIT. */
static int hold_state(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	if (!hold_idle(IN_STATE)) hold_halt();
	return index;
}
static struct cpuidle_driver hold_driver = {
	.name = "hold", .owner = THIS_MODULE, .state_count = 1,
	.states = { { .name = "HOLD", .desc = "HOLD", .exit_latency = 1, .target_residency = 1, .enter = hold_state } },
};
/* The way out of an idle state. Runs after the tracer's own probe, whose priority is 10. */
static void hold_left(void *data, unsigned state, unsigned cpu) { if (state == PWR_EVENT_EXIT) hold_idle(IN_LOOP); }

static int hold_once_idle(int how, unsigned cpu, u64 us)
{
	static bool ready[3];
	int ms = 1000, err = 0;
	if (!ready[how]) err = how == IN_STATE ? cpuidle_register(&hold_driver, NULL) : register_trace_prio_cpu_idle(hold_left, NULL, 0);
	if (err) return err;
	ready[how] = true;
	idle.cpu = cpu; idle.us = us;
	smp_store_release(&idle.how, how);
	while (smp_load_acquire(&idle.how) && ms--) msleep(1);
	return xchg(&idle.how, NOT) ? -ETIMEDOUT : 0;
}

static ssize_t hold_write(struct file *f, const char __user *buf, size_t n, loff_t *p)
{
	char text[32] = "", kind[16]; unsigned us = 0, cpu = 0; u64 start; int err = 0;
	if (n > 31 || copy_from_user(text, buf, n)) return -EINVAL;
	if (sscanf(text, "%15s %u %u", kind, &us, &cpu) < 2 || us > 50000) return -EINVAL;
	start = ktime_get_mono_fast_ns();
	if (!strcmp(kind, "alpha")) hold_irqs_alpha(us);
	else if (!strcmp(kind, "beta")) hold_irqs_beta(us);
	else if (!strcmp(kind, "gamma")) hold_irqs_gamma(us);
	else if (!strcmp(kind, "delta")) hold_preempt_delta(us);
	else if (!strcmp(kind, "epsilon")) hold_preempt_epsilon(us);
	else if (!strcmp(kind, "lock")) { hold_lock_zeta(us); return n; }
	else if (!strcmp(kind, "ipi")) smp_call_function_single(cpu, hold_ipi_handler, (void *)(u64)us, 1);
	else if (!strcmp(kind, "work")) { work_us = us; irq_work_queue(&hold_work); irq_work_sync(&hold_work); }
	else if (!strcmp(kind, "stop")) stop_machine(hold_stopper, (void *)(u64)us, cpumask_of(cpu));
	else if (!strcmp(kind, "state")) err = hold_once_idle(IN_STATE, cpu, us);
	else if (!strcmp(kind, "loop")) err = hold_once_idle(IN_LOOP, cpu, us);
	else return -EINVAL;
	if (err) return err;
	now.called = start; now.returned = ktime_get_mono_fast_ns(); now.us = us;
	if (hold_n < 512) hold_log[hold_n++] = now;
	return n;
}
static ssize_t hold_read(struct file *f, char __user *buf, size_t n, loff_t *p)
{
	size_t most = 512 * (5 + 2 * GAPS) * 21, len = 0; int i, gap; ssize_t r; char *all = kvmalloc(most, GFP_KERNEL);
	if (!all) return -ENOMEM;
	for (i = 0; i < hold_n; i++) {
		typeof(now) *l = &hold_log[i];
		len += scnprintf(all + len, most - len, "%llu %llu %llu %llu %llu", l->called, l->returned, l->us, l->held[0], l->held[1]);
		for (gap = 0; gap < l->gaps; gap++) len += scnprintf(all + len, most - len, " %llu %llu", l->gap[gap][0], l->gap[gap][1]);
		len += scnprintf(all + len, most - len, "\n");
	}
	r = simple_read_from_buffer(buf, n, p, all, len); kvfree(all);
	if (*p >= len && r == 0) hold_n = 0;
	return r;
}
static const struct file_operations hold_ops = { .owner = THIS_MODULE, .write = hold_write, .read = hold_read };
static struct miscdevice hold_dev = { .minor = MISC_DYNAMIC_MINOR, .name = "hold", .fops = &hold_ops, .mode = 0666 };
static int __init hold_init(void) { hold_work = IRQ_WORK_INIT_HARD(hold_work_handler); return misc_register(&hold_dev); }
module_init(hold_init); MODULE_LICENSE("GPL");
