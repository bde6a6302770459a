// SPDX-License-Identifier: GPL-2.0
/*
 * Holds interrupts or preemption off, or keeps an IPI, irq_work or the stopper busy, in functions of known names: one write of
 * "KIND MICROSECONDS CPU" to /dev/hold. A read gives the start and the end of each, CLOCK_MONOTONIC, ns. For `cargo trials sections`.
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

static DEFINE_RAW_SPINLOCK(hold_lock);
static u64 hold_log[512][3];
static int hold_n;

static noinline void hold_spin(u64 us)
{
	u64 end = ktime_get_mono_fast_ns() + us * 1000;
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
}
noinline void hold_irqs_alpha(u64 us) { unsigned long f; local_irq_save(f); hold_spin(us); local_irq_restore(f); barrier(); }
noinline void hold_irqs_beta(u64 us) { unsigned long f; raw_spin_lock_irqsave(&hold_lock, f); hold_spin(us); raw_spin_unlock_irqrestore(&hold_lock, f); barrier(); }
noinline void hold_irqs_gamma(u64 us) { local_irq_disable(); hold_spin(us); local_irq_enable(); barrier(); }
noinline void hold_preempt_delta(u64 us) { preempt_disable(); hold_spin(us); preempt_enable(); barrier(); }
noinline void hold_preempt_epsilon(u64 us) { raw_spin_lock(&hold_lock); hold_spin(us); raw_spin_unlock(&hold_lock); barrier(); }
static void hold_ipi_handler(void *us) { hold_spin((u64)us); }
static u64 work_us;
static void hold_work_handler(struct irq_work *w) { hold_spin(work_us); }
static struct irq_work hold_work;
static int hold_stopper(void *us) { hold_spin((u64)us); return 0; }

static ssize_t hold_write(struct file *f, const char __user *buf, size_t n, loff_t *p)
{
	char text[32] = "", kind[16]; unsigned us = 0, cpu = 0; u64 start;
	if (n > 31 || copy_from_user(text, buf, n)) return -EINVAL;
	if (sscanf(text, "%15s %u %u", kind, &us, &cpu) < 2 || us > 5000) return -EINVAL;
	start = ktime_get_mono_fast_ns();
	if (!strcmp(kind, "alpha")) hold_irqs_alpha(us);
	else if (!strcmp(kind, "beta")) hold_irqs_beta(us);
	else if (!strcmp(kind, "gamma")) hold_irqs_gamma(us);
	else if (!strcmp(kind, "delta")) hold_preempt_delta(us);
	else if (!strcmp(kind, "epsilon")) hold_preempt_epsilon(us);
	else if (!strcmp(kind, "ipi")) smp_call_function_single(cpu, hold_ipi_handler, (void *)(u64)us, 1);
	else if (!strcmp(kind, "work")) { work_us = us; irq_work_queue(&hold_work); irq_work_sync(&hold_work); }
	else if (!strcmp(kind, "stop")) stop_machine(hold_stopper, (void *)(u64)us, cpumask_of(cpu));
	else return -EINVAL;
	if (hold_n < 512) { hold_log[hold_n][0] = start; hold_log[hold_n][1] = ktime_get_mono_fast_ns(); hold_log[hold_n++][2] = us; }
	return n;
}
static ssize_t hold_read(struct file *f, char __user *buf, size_t n, loff_t *p)
{
	char *all = kvmalloc(512 * 64, GFP_KERNEL); size_t len = 0; int i; ssize_t r;
	for (i = 0; i < hold_n; i++) len += scnprintf(all + len, 512 * 64 - len, "%llu %llu %llu\n", hold_log[i][0], hold_log[i][1], hold_log[i][2]);
	r = simple_read_from_buffer(buf, n, p, all, len); kvfree(all);
	if (*p >= len && r == 0) hold_n = 0;
	return r;
}
static const struct file_operations hold_ops = { .owner = THIS_MODULE, .write = hold_write, .read = hold_read };
static struct miscdevice hold_dev = { .minor = MISC_DYNAMIC_MINOR, .name = "hold", .fops = &hold_ops, .mode = 0666 };
static int __init hold_init(void) { hold_work = IRQ_WORK_INIT_HARD(hold_work_handler); return misc_register(&hold_dev); }
static void __exit hold_exit(void) { misc_deregister(&hold_dev); }
module_init(hold_init); module_exit(hold_exit); MODULE_LICENSE("GPL");
