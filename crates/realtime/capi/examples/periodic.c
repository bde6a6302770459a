/* A correct periodic program: checks, one task, an orderly stop, and statistics.
 *
 *   periodic [PERIOD_US [CYCLES [PRIORITY]]]      CYCLES 0: until Ctrl-C
 *
 * Without the privilege for SCHED_FIFO it runs in the ordinary class and reports this. */

#include <punctual_rt.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
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

/* Parses a whole number up to `most`. */
static bool number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *value <= most;
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
    uint64_t period_us = 1000, cycles = 1000, fifo = 80;
    int priority;
    struct prt_task_options options;
    struct prt_task *task = NULL;
    struct prt *rt;
    uint64_t sum = 0;

    /* At most an hour, and so many cycles that the total time fits into 64 bits. */
    if (argc > 4 || (argc > 1 && !number(argv[1], 3600000000, &period_us)) || (argc > 2 && !number(argv[2], 1000000, &cycles)) ||
        (argc > 3 && !number(argv[3], 99, &fifo))) {
        fprintf(stderr, "usage: periodic [PERIOD_US [CYCLES [PRIORITY]]]\n");
        return 2;
    }
    priority = (int)fifo;
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
    /* The signals are blocked, so wait for them while the task runs. At the timeout it has ended or is about to. */
    if (cycles && prt_until_signal_or(rt, prt_now_ns() + cycles * options.period_ns) != PRT_STATUS_TIMED_OUT)
        fprintf(stderr, "stopped by a signal\n");
    if (cycles ? prt_task_join(task, NULL) : prt_until_signal(rt))
        return failed("wait");
    figures(task, sum);
    prt_task_free(task);
    prt_free(rt);
    return 0;
}
