/* A task that handles events, records to a log, and writes marks to the kernel's trace.
 *
 *   events        ten expirations of a timer; the log is on standard error
 *
 * To use an encoder's line in place of the timer: prt_source_gpio("gpiochip0", 17, PRT_EDGES_BOTH, &source). */

#include <punctual_rt.h>
#include <inttypes.h>
#include <stdio.h>

#define EVENTS 10

struct noted {
    struct prt_recorder *log;
    struct prt_marks *marks;
};

/* Real-time. Records only numbers, which an ordinary thread formats and writes. */
static int count(const struct prt_interrupt *interrupt, void *data)
{
    struct noted *noted = (struct noted *)data;
    struct prt_arg numbers[2];
    uint64_t last = interrupt->sequence + interrupt->coalesced;
    numbers[0] = prt_arg_unsigned(last);
    numbers[1] = prt_arg_time(interrupt->woke_ns - interrupt->at_ns);
    prt_record(noted->log, PRT_LEVEL_INFO, "event {}, {} late", numbers, 2);
    prt_mark_value(noted->marks, "event", last); /* counted if the trace cannot be written */
    return last + 1 < EVENTS ? PRT_NEXT_CONTINUE : PRT_NEXT_STOP;
}

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, prt_last_error());
    return 1;
}

static int run(struct prt *rt, struct noted *noted)
{
    struct prt_interrupt_options options;
    struct prt_interrupt_counts counts;
    struct prt_timer *timer = prt_timer_new();
    struct prt_source *source = NULL;
    struct prt_task *task = NULL;
    int end = -1;
    prt_interrupt_options_init(&options, "counter", PRT_POLICY_FIFO, 60);
    if (prt_try_scheduling(PRT_POLICY_FIFO, 60)) {
        options.policy = PRT_POLICY_OTHER;
        options.priority = 0;
    }
    if (prt_source_timer(timer, &source) || prt_interrupt_start(rt, &options, source, count, noted, &task))
        return failed("task");
    if (prt_timer_set(timer, prt_now_ns(), 1000000) || prt_task_join(task, &end) || prt_interrupt_get_counts(task, &counts))
        return failed("wait");
    printf("%" PRIu64 " events: %" PRIu64 " handled, %" PRIu64 " coalesced, %" PRIu64 " lost; end %d\n", counts.events, counts.handled,
           counts.coalesced, counts.lost, end);
    prt_task_free(task);
    prt_timer_free(timer);
    return 0;
}

int main(void)
{
    struct prt_mark_counts marked;
    struct prt_log_counts logged;
    struct prt_log *log = NULL;
    struct noted noted = { NULL, NULL };
    struct prt *rt = NULL;
    int code;
    if (prt_marks_open(&noted.marks))
        fprintf(stderr, "%s\n", prt_last_error());
    if (prt_start(prt_builder_new(), &rt) || prt_log_start(2, &log) || prt_log_recorder(log, "counter", 64, &noted.log))
        return failed("start");
    code = run(rt, &noted);
    prt_marks_counts(noted.marks, &marked);
    prt_recorder_free(noted.log);
    prt_log_get_counts(log, &logged);
    prt_log_free(log);
    printf("marks %" PRIu64 ", dropped records %" PRIu64 "\n", marked.written + marked.failed, logged.dropped);
    prt_marks_free(noted.marks);
    prt_free(rt);
    return code;
}
