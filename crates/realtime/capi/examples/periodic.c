/* A correct periodic program: checks, one task, orderly stop, its figures.
 *
 *   periodic [PERIOD_US [CYCLES [PRIORITY]]]      CYCLES 0: until Ctrl-C
 *
 * Without the privilege for SCHED_FIFO it runs in the ordinary class and says so. */

#include <punctual_rt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int body(const struct prt_cycle *cycle, void *data)
{
    uint64_t *sum = (uint64_t *)data;
    *sum += cycle->index + 1;
    return PRT_NEXT_CONTINUE;
}

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, prt_last_error());
    return 1;
}

static struct prt *start(int priority)
{
    struct prt_builder *builder = prt_builder_new();
    struct prt *rt = NULL;
    prt_builder_check(builder, PRT_CHECK_PREEMPT_RT, 0, PRT_SEVERITY_WANTED);
    prt_builder_check(builder, PRT_CHECK_PRIORITY, (uint64_t)priority, PRT_SEVERITY_WANTED);
    if (prt_start(builder, &rt))
        return NULL;
    fputs(prt_report(rt), stderr);
    return rt;
}

static void figures(const struct prt_task *task, uint64_t sum)
{
    struct prt_stats stats;
    uint64_t median = 0, tail = 0;
    if (prt_task_stats(task, &stats))
        return;
    printf("released %" PRIu64 " ran %" PRIu64 " skipped %" PRIu64 " pending %" PRIu64 " sum %" PRIu64 "\n", stats.released,
           stats.ran, stats.skipped, stats.pending, sum);
    prt_task_quantile(task, PRT_MEASURE_LATENESS, 0.5, &median);
    prt_task_quantile(task, PRT_MEASURE_LATENESS, 0.999, &tail);
    printf("late by %" PRIu64 " ns at the median, %" PRIu64 " at 99.9 %%, %" PRIu64 " at most; page faults %" PRId64 "\n",
           median, tail, stats.lateness.max_ns, stats.page_faults);
}

int main(int argc, char **argv)
{
    uint64_t period_us = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t cycles = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    int priority = argc > 3 ? atoi(argv[3]) : 80;
    struct prt_task_options options;
    struct prt_task *task = NULL;
    struct prt *rt;
    uint64_t sum = 0;

    if (prt_block_signals() || !(rt = start(priority)))
        return failed("start");
    prt_task_options_init(&options, "example", PRT_POLICY_FIFO, priority, period_us * 1000);
    if (prt_try_scheduling(PRT_POLICY_FIFO, priority)) {
        fprintf(stderr, "in the ordinary class: %s\n", prt_last_error());
        options.policy = PRT_POLICY_OTHER;
        options.priority = 0;
    }
    options.cycles = cycles;
    if (prt_task_start(rt, &options, body, &sum, &task))
        return failed("task");
    if (cycles ? prt_task_join(task, NULL) : prt_until_signal(rt))
        return failed("wait");
    prt_task_stop(task, NULL);
    figures(task, sum);
    prt_task_free(task);
    prt_free(rt);
    return 0;
}
