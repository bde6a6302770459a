/* NAME: a control step every millisecond, with a log that cannot delay it.
 *
 *   NAME [SECONDS [CPU]]      without SECONDS, or with 0: until Ctrl-C; without CPU: on any CPU */

#include <punctual_rt.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PERIOD_NS 1000000
#define SECOND_NS 1000000000
#define PRIORITY 80

struct sample {
    uint64_t index;
    uint64_t late_ns;
};

/* Nothing in the loop allocates, locks or prints. */
static int step(const struct prt_cycle *cycle, void *data)
{
    struct sample sample = { cycle->index, cycle->woke_ns - cycle->scheduled_ns };
    prt_send((struct prt_sender *)data, &sample, sizeof sample); /* if it is full, the sample is dropped and counted */
    return PRT_NEXT_CONTINUE;
}

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, prt_last_error());
    return 1;
}

/* Parses a whole number up to INT_MAX. */
static bool number(const char *text, int *value)
{
    char *end;
    errno = 0;
    long all = strtol(text, &end, 10);
    *value = (int)all;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *value == all;
}

/* Runs in an ordinary thread, so the loop does not wait for anything in here. */
static void log_second(struct prt_receiver *from, int second)
{
    struct prt_queue_counts counts = { 0 };
    struct sample sample;
    uint64_t worst = 0, count = 0;
    for (; prt_receive(from, &sample, sizeof sample) == PRT_STATUS_OK; count++)
        if (sample.late_ns > worst)
            worst = sample.late_ns;
    prt_receiver_counts(from, &counts);
    printf("second %d: %" PRIu64 " steps, at most %" PRIu64 " us late; %" PRIu64 " samples dropped so far\n", second, count,
           worst / 1000, counts.dropped);
    fflush(stdout);
}

static void figures(const struct prt_task *task)
{
    struct prt_stats stats;
    uint64_t median = 0;
    if (prt_task_stats(task, &stats))
        return;
    prt_task_quantile(task, PRT_MEASURE_LATENESS, 0.5, &median);
    printf("%" PRIu64 " releases: %" PRIu64 " ran, %" PRIu64 " skipped; late by %" PRIu64 " us at the median, %" PRIu64
           " us at most; %" PRId64 " page faults\n",
           stats.released, stats.ran, stats.skipped, median / 1000, stats.lateness.max_ns / 1000, stats.page_faults);
}

int main(int argc, char **argv)
{
    int seconds = 0, cpu = -1, second;
    struct prt_builder *builder;
    struct prt_task_options options;
    struct prt_sender *to = NULL;
    struct prt_receiver *from = NULL;
    struct prt_task *task = NULL;
    struct prt *rt = NULL;
    uint64_t next;

    if (argc > 3 || (argc > 1 && !number(argv[1], &seconds)) || (argc > 2 && !number(argv[2], &cpu))) {
        fprintf(stderr, "usage: NAME [SECONDS [CPU]]\n");
        return 2;
    }
    builder = prt_builder_new();
    prt_builder_lock_memory(builder);
    prt_builder_check(builder, PRT_CHECK_PREEMPT_RT, 0, PRT_SEVERITY_WANTED);
    prt_builder_check(builder, PRT_CHECK_HIGH_RESOLUTION_TIMERS, 0, PRT_SEVERITY_REQUIRED);
    if (prt_block_signals() || prt_start(builder, &rt))
        return failed("start");
    /* A queue that lasts for four seconds. */
    if (prt_queue_new(sizeof(struct sample), 4096, PRT_OVERFLOW_DROP_NEWEST, &to, &from) || prt_sender_lock_memory(to))
        return failed("queue");
    prt_task_options_init(&options, "NAME", PRT_POLICY_FIFO, PRIORITY, PERIOD_NS);
    options.cpu = cpu;
    options.cycles = (uint64_t)seconds * (SECOND_NS / PERIOD_NS);
    if (prt_task_start(rt, &options, step, to, &task))
        return failed("task");
    /* Until the last second is over, or a signal stops the task. */
    next = prt_now_ns() + SECOND_NS;
    for (second = 1; prt_until_signal_or(rt, next) == PRT_STATUS_TIMED_OUT && second != seconds; second++) {
        log_second(from, second);
        next += SECOND_NS;
    }
    if (prt_task_join(task, NULL))
        return failed("wait");
    log_second(from, second);
    figures(task);
    prt_task_free(task);
    prt_sender_free(to);
    prt_receiver_free(from);
    return prt_free(rt);
}
