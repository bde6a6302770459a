/* Tests interrupt tasks, the log and marks, with correct and incorrect calls. Prints "events ok" if everything is as the header says. No
 * result depends on how long anything takes. */

#include <punctual_rt.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int wrong = 0;

#define EXPECT(status, call) expect(__LINE__, #call, (status), (call))
#define CHECK(what) check(__LINE__, #what, (what) ? 1 : 0)

static void check(int line, const char *what, int holds)
{
    if (!holds) {
        printf("line %d: not so: %s\n", line, what);
        wrong++;
    }
}

static void expect(int line, const char *call, int expected, int got)
{
    if (got != expected) {
        printf("line %d: %s: %s, expected %s: %s\n", line, call, prt_status_name(got), prt_status_name(expected), prt_last_error());
        wrong++;
    }
    check(line, "an error has a text", expected == PRT_STATUS_OK || prt_last_error()[0] != 0);
}

struct seen {
    uint64_t next, sum, bodies, stamped;
};

static int see(const struct prt_interrupt *interrupt, void *data)
{
    struct seen *seen = (struct seen *)data;
    CHECK(interrupt->sequence == seen->next + interrupt->lost);
    CHECK(interrupt->at_ns <= interrupt->woke_ns);
    seen->next = interrupt->sequence + interrupt->coalesced + 1;
    seen->sum += interrupt->value;
    seen->stamped += interrupt->at_ns != 0;
    seen->bodies++;
    return PRT_NEXT_CONTINUE;
}

static struct prt_task *started(struct prt *rt, struct prt_source *source, prt_interrupt_body body, void *data)
{
    struct prt_interrupt_options options;
    struct prt_task *task = NULL;
    EXPECT(PRT_STATUS_OK, prt_interrupt_options_init(&options, "events", PRT_POLICY_OTHER, 0));
    EXPECT(PRT_STATUS_OK, prt_interrupt_start(rt, &options, source, body, data, &task));
    return task;
}

static struct prt_interrupt_counts counts_of(const struct prt_task *task)
{
    struct prt_interrupt_counts counts;
    EXPECT(PRT_STATUS_OK, prt_interrupt_get_counts(task, &counts));
    CHECK(counts.events == counts.handled + counts.coalesced + counts.lost);
    return counts;
}

static void counters(struct prt *rt)
{
    struct seen seen = { 0, 0, 0, 0 };
    struct prt_eventfd *counter = NULL;
    struct prt_source *source = NULL;
    struct prt_interrupt_counts counts;
    struct prt_stats stats;
    struct prt_task *task;
    uint64_t raised = 0, quantile, n;
    int end = -1;
    EXPECT(PRT_STATUS_OK, prt_eventfd_new(&counter));
    EXPECT(PRT_STATUS_OK, prt_source_eventfd(counter, &source));
    task = started(rt, source, see, &seen);
    EXPECT(PRT_STATUS_INVALID, prt_eventfd_raise(counter, UINT64_MAX));
    EXPECT(PRT_STATUS_INVALID, prt_eventfd_raise(counter, ((uint64_t)1 << 32) + 1));
    EXPECT(PRT_STATUS_OK, prt_eventfd_raise(counter, 0));
    for (n = 0; n < 300; raised += n % 3 + 1, n++)
        EXPECT(PRT_STATUS_OK, prt_eventfd_raise(counter, n % 3 + 1));
    prt_eventfd_free(counter);
    while (counts_of(task).events < raised)
        prt_sleep_until(prt_now_ns() + 1000000);
    EXPECT(PRT_STATUS_OK, prt_task_stop(task, &end));
    counts = counts_of(task);
    CHECK(end == PRT_END_STOPPED && counts.events == raised && counts.lost == 0 && counts.source_error == 0);
    CHECK(seen.bodies == counts.handled && seen.stamped == 0 && seen.next == raised);
    EXPECT(PRT_STATUS_OK, prt_task_stats(task, &stats));
    CHECK(stats.released == raised && stats.ran == counts.handled && stats.skipped == counts.coalesced);
    CHECK(stats.lateness.count == 0 && stats.execution.count == counts.handled);
    EXPECT(PRT_STATUS_EMPTY, prt_task_quantile(task, PRT_MEASURE_LATENESS, 0.5, &quantile));
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
}

static void timers(struct prt *rt)
{
    struct seen seen = { 0, 0, 0, 0 };
    struct prt_timer *timer = prt_timer_new();
    struct prt_source *source = NULL;
    struct prt_stats stats;
    struct prt_task *task;
    uint64_t begun = prt_now_ns(), quantile;
    EXPECT(PRT_STATUS_OK, prt_source_timer(timer, &source));
    EXPECT(PRT_STATUS_BUSY, prt_source_timer(timer, &source));
    task = started(rt, source, see, &seen);
    EXPECT(PRT_STATUS_OK, prt_timer_set(timer, begun, 200000));
    while (counts_of(task).events < 10)
        prt_sleep_until(prt_now_ns() + 1000000);
    EXPECT(PRT_STATUS_OK, prt_timer_cancel(timer));
    EXPECT(PRT_STATUS_OK, prt_task_stop(task, NULL));
    EXPECT(PRT_STATUS_OK, prt_task_stats(task, &stats));
    CHECK(seen.stamped == seen.bodies && stats.lateness.count == stats.ran && prt_now_ns() >= begun + 9 * 200000);
    EXPECT(PRT_STATUS_OK, prt_task_quantile(task, PRT_MEASURE_LATENESS, 1, &quantile));
    CHECK(quantile == stats.lateness.max_ns);
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
    prt_timer_free(timer);
}

struct script {
    int calls, end_by;
};

/* Four arrivals, two of them signals, and then the error. */
static int scripted(struct prt_arrival *arrival, void *data)
{
    struct script *script = (struct script *)data;
    CHECK(arrival->at_ns == 0 && arrival->events == 1 && arrival->lost == 0 && arrival->value == 0);
    switch (script->calls++) {
    case 0:
        arrival->at_ns = prt_now_ns();
        arrival->value = 7;
        return 0;
    case 1:
        arrival->events = 3;
        arrival->lost = 5;
        return 0;
    case 2:
        arrival->events = 0;
        return 0;
    case 3:
        return EINTR;
    default:
        return script->end_by;
    }
}

static void sources_of_ones_own(struct prt *rt)
{
    const int ends[3] = { ENODEV, -1, 70000 }, reported[3] = { ENODEV, EIO, EIO };
    int n;
    for (n = 0; n < 3; n++) {
        struct script script = { 0, 0 };
        struct seen seen = { 0, 0, 0, 0 };
        struct prt_source *source = NULL;
        struct prt_interrupt_counts counts;
        struct prt_task *task;
        int end = -1;
        script.end_by = ends[n];
        EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
        task = started(rt, source, see, &seen);
        EXPECT(PRT_STATUS_OK, prt_task_join(task, &end));
        counts = counts_of(task);
        CHECK(end == PRT_END_SOURCE_FAILED && counts.source_error == reported[n]);
        CHECK(counts.events == 9 && counts.handled == 2 && counts.coalesced == 2 && counts.lost == 5);
        CHECK(seen.sum == 7 && seen.bodies == 2 && script.calls == 5);
        EXPECT(PRT_STATUS_OK, prt_task_free(task));
    }
}

static int waits_for_itself(const struct prt_interrupt *interrupt, void *data)
{
    (void)interrupt;
    EXPECT(PRT_STATUS_DEADLOCK, prt_stop((struct prt *)data));
    return PRT_NEXT_STOP;
}

static int nothing(const struct prt_cycle *cycle, void *data)
{
    (void)cycle;
    (void)data;
    return PRT_NEXT_STOP;
}

static void careless(struct prt *rt)
{
    struct prt_interrupt_options options;
    struct prt_interrupt_counts counts;
    struct prt_task_options periodic;
    struct prt_irq_threads *threads = NULL;
    struct prt_eventfd *counter = NULL;
    struct prt_source *source = NULL;
    struct prt_task *task = NULL;
    struct script script = { 0, 0 };
    int end = -1;
    EXPECT(PRT_STATUS_NULL, prt_eventfd_new(NULL));
    EXPECT(PRT_STATUS_NULL, prt_eventfd_raise(NULL, 1));
    EXPECT(PRT_STATUS_NULL, prt_source_eventfd(NULL, &source));
    EXPECT(PRT_STATUS_NULL, prt_timer_set(NULL, 0, 0));
    EXPECT(PRT_STATUS_NULL, prt_timer_cancel(NULL));
    EXPECT(PRT_STATUS_NULL, prt_source_timer(NULL, &source));
    EXPECT(PRT_STATUS_NULL, prt_source_custom(NULL, NULL, &source));
    EXPECT(PRT_STATUS_NULL, prt_source_custom(scripted, NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_source_uio(NULL, &source));
    EXPECT(PRT_STATUS_REFUSED, prt_source_uio("/nonexistent/uio0", &source));
    EXPECT(PRT_STATUS_REFUSED, prt_source_gpio("no-such-chip", 0, PRT_EDGES_BOTH, &source));
    EXPECT(PRT_STATUS_INVALID, prt_source_gpio("gpiochip0", 0, 9, &source));
    EXPECT(PRT_STATUS_NULL, prt_interrupt_options_init(NULL, "x", 0, 0));
    EXPECT(PRT_STATUS_NULL, prt_interrupt_get_counts(NULL, &counts));
    EXPECT(PRT_STATUS_INVALID, prt_irq_threads_set(-1, 50, &threads));
    EXPECT(PRT_STATUS_INVALID, prt_irq_threads_set(1, 100, &threads));
    EXPECT(PRT_STATUS_REFUSED, prt_irq_threads_set(4000000, 50, &threads));
    CHECK(source == NULL && threads == NULL);
    prt_source_free(NULL);
    prt_eventfd_free(NULL);
    prt_timer_free(NULL);
    prt_irq_threads_free(NULL);

    /* A start that is refused frees the source. */
    EXPECT(PRT_STATUS_OK, prt_interrupt_options_init(&options, "x", PRT_POLICY_DEADLINE, 0));
    EXPECT(PRT_STATUS_NULL, prt_interrupt_start(rt, &options, NULL, see, NULL, &task));
    EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
    EXPECT(PRT_STATUS_INVALID, prt_interrupt_start(rt, &options, source, see, NULL, &task));
    options.policy = PRT_POLICY_OTHER;
    options.cpu = -2;
    EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
    EXPECT(PRT_STATUS_INVALID, prt_interrupt_start(rt, &options, source, see, NULL, &task));
    options.cpu = 8000;
    EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
    EXPECT(PRT_STATUS_REFUSED, prt_interrupt_start(rt, &options, source, see, NULL, &task));
    options.cpu = -1;
    options.reserved[3] = 1;
    EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
    EXPECT(PRT_STATUS_INVALID, prt_interrupt_start(rt, &options, source, see, NULL, &task));
    EXPECT(PRT_STATUS_OK, prt_source_custom(scripted, &script, &source));
    prt_source_free(source);
    CHECK(script.calls == 0);

    EXPECT(PRT_STATUS_OK, prt_eventfd_new(&counter));
    EXPECT(PRT_STATUS_OK, prt_source_eventfd(counter, &source));
    task = started(rt, source, waits_for_itself, rt);
    EXPECT(PRT_STATUS_OK, prt_eventfd_raise(counter, 1));
    EXPECT(PRT_STATUS_OK, prt_task_join(task, &end));
    CHECK(end == PRT_END_RETURNED);
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
    prt_eventfd_free(counter);

    EXPECT(PRT_STATUS_OK, prt_task_options_init(&periodic, "x", PRT_POLICY_OTHER, 0, 1000000));
    EXPECT(PRT_STATUS_OK, prt_task_start(rt, &periodic, nothing, NULL, &task));
    EXPECT(PRT_STATUS_INVALID, prt_interrupt_get_counts(task, &counts));
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
}

/* If the log's reader closes its end, no signal ends the program. */
static void nobody_reads(void)
{
    struct prt_recorder *recorder = NULL;
    struct prt_log_counts counts;
    struct prt_log *log = NULL;
    int ends[2];
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    EXPECT(PRT_STATUS_OK, prt_log_start(ends[1], &log));
    EXPECT(PRT_STATUS_OK, prt_log_recorder(log, "loop", 1, &recorder));
    EXPECT(PRT_STATUS_OK, prt_record(recorder, PRT_LEVEL_ERROR, "to nobody", NULL, 0));
    do {
        prt_sleep_until(prt_now_ns() + 1000000);
        EXPECT(PRT_STATUS_OK, prt_log_get_counts(log, &counts));
    } while (counts.failed == 0);
    CHECK(counts.failed == 1 && counts.written == 0 && counts.dropped == 0);
    prt_recorder_free(recorder);
    prt_log_free(log);
    close(ends[1]);
}

static void logs(void)
{
    const char *texts[3] = { "info loop: 7 then -3, 0.5 in 850 \xc2\xb5s\n", "warning loop: plain\n", "loop dropped 1 records\n" };
    char text[512];
    struct prt_arg numbers[4];
    struct prt_recorder *recorder = NULL;
    struct prt_log_counts counts;
    struct prt_log *log = NULL;
    ssize_t got;
    int ends[2], n;
    CHECK(pipe(ends) == 0);
    EXPECT(PRT_STATUS_NULL, prt_log_start(1, NULL));
    EXPECT(PRT_STATUS_INVALID, prt_log_start(-1, &log));
    EXPECT(PRT_STATUS_REFUSED, prt_log_start(4000, &log));
    EXPECT(PRT_STATUS_OK, prt_log_start(ends[1], &log));
    close(ends[1]);
    EXPECT(PRT_STATUS_NULL, prt_log_recorder(NULL, "loop", 2, &recorder));
    EXPECT(PRT_STATUS_NULL, prt_log_recorder(log, NULL, 2, &recorder));
    EXPECT(PRT_STATUS_INVALID, prt_log_recorder(log, "loop", 0, &recorder));
    EXPECT(PRT_STATUS_INVALID, prt_log_recorder(log, "loop", (size_t)-1, &recorder));
    EXPECT(PRT_STATUS_OK, prt_log_recorder(log, "loop", 2, &recorder));
    numbers[0] = prt_arg_unsigned(7);
    numbers[1] = prt_arg_signed(-3);
    numbers[2] = prt_arg_double(0.5);
    numbers[3] = prt_arg_time(850000);
    EXPECT(PRT_STATUS_NULL, prt_record(NULL, PRT_LEVEL_INFO, "x", NULL, 0));
    EXPECT(PRT_STATUS_NULL, prt_record(recorder, PRT_LEVEL_INFO, NULL, NULL, 0));
    EXPECT(PRT_STATUS_NULL, prt_record(recorder, PRT_LEVEL_INFO, "{}", NULL, 1));
    EXPECT(PRT_STATUS_INVALID, prt_record(recorder, 9, "x", NULL, 0));
    EXPECT(PRT_STATUS_INVALID, prt_record(recorder, PRT_LEVEL_INFO, "x", numbers, 5));
    EXPECT(PRT_STATUS_INVALID, prt_record(recorder, PRT_LEVEL_INFO, "\xff", NULL, 0));
    EXPECT(PRT_STATUS_OK, prt_record(recorder, PRT_LEVEL_INFO, "{} then {}, {} in {}", numbers, 4));
    numbers[0].kind = 9;
    EXPECT(PRT_STATUS_INVALID, prt_record(recorder, PRT_LEVEL_INFO, "{}", numbers, 1));
    EXPECT(PRT_STATUS_OK, prt_record(recorder, PRT_LEVEL_WARNING, "plain", NULL, 0));
    prt_recorder_free(recorder);
    EXPECT(PRT_STATUS_OK, prt_log_get_counts(log, &counts));
    prt_log_free(log);
    got = read(ends[0], text, sizeof text - 1);
    CHECK(got > 0);
    text[got > 0 ? got : 0] = 0;
    for (n = 0; n < 2; n++)
        CHECK(strstr(text, texts[n]) != NULL);
    close(ends[0]);

    /* If nobody reads, what does not fit is dropped, and reported. */
    CHECK(pipe(ends) == 0);
    EXPECT(PRT_STATUS_OK, prt_log_start(ends[1], &log));
    EXPECT(PRT_STATUS_OK, prt_log_recorder(log, "loop", 1, &recorder));
    do {
        EXPECT(PRT_STATUS_OK, prt_record(recorder, PRT_LEVEL_DEBUG, "again", NULL, 0));
        EXPECT(PRT_STATUS_OK, prt_log_get_counts(log, &counts));
    } while (counts.dropped == 0);
    prt_log_free(log);
    EXPECT(PRT_STATUS_OK, prt_record(recorder, PRT_LEVEL_DEBUG, "to nobody", NULL, 0));
    prt_recorder_free(recorder);
    got = read(ends[0], text, sizeof text - 1);
    text[got > 0 ? got : 0] = 0;
    CHECK(strstr(text, "debug loop: again\n") != NULL && strstr(text, texts[2]) != NULL);
    close(ends[0]);
    close(ends[1]);
    prt_recorder_free(NULL);
    prt_log_free(NULL);
    nobody_reads();
}

static void marks(void)
{
    struct prt_mark_counts counts;
    struct prt_marks *marks = NULL;
    int opened, written;
    EXPECT(PRT_STATUS_NULL, prt_marks_open(NULL));
    opened = prt_marks_open(&marks);
    CHECK(marks != NULL && (opened == PRT_STATUS_OK || opened == PRT_STATUS_REFUSED));
    CHECK(opened == PRT_STATUS_OK || strstr(prt_last_error(), "trace_marker") != NULL);
    written = prt_mark(marks, "begin");
    CHECK(written == PRT_STATUS_OK || written == PRT_STATUS_REFUSED);
    EXPECT(written, prt_mark_value(marks, "step", 7));
    EXPECT(written, prt_marks_check(marks));
    EXPECT(written, prt_late(marks, NULL));
    EXPECT(written, prt_late(marks, "axis"));
    EXPECT(PRT_STATUS_NULL, prt_late(NULL, NULL));
    EXPECT(PRT_STATUS_INVALID, prt_mark(marks, "\xff"));
    EXPECT(PRT_STATUS_NULL, prt_mark(marks, NULL));
    EXPECT(PRT_STATUS_NULL, prt_mark(NULL, "begin"));
    EXPECT(PRT_STATUS_NULL, prt_mark_value(NULL, "begin", 1));
    EXPECT(PRT_STATUS_NULL, prt_marks_check(NULL));
    EXPECT(PRT_STATUS_NULL, prt_marks_counts(NULL, &counts));
    EXPECT(PRT_STATUS_NULL, prt_marks_counts(marks, NULL));
    EXPECT(PRT_STATUS_OK, prt_marks_counts(marks, &counts));
    CHECK(written == PRT_STATUS_OK ? counts.written == 4 && counts.failed == 0 : counts.written == 0 && counts.failed == 4);
    prt_marks_free(marks);
    prt_marks_free(NULL);
}

int main(void)
{
    struct prt *rt = NULL;
    EXPECT(PRT_STATUS_OK, prt_start(prt_builder_new(), &rt));
    counters(rt);
    timers(rt);
    sources_of_ones_own(rt);
    careless(rt);
    logs();
    marks();
    EXPECT(PRT_STATUS_OK, prt_free(rt));
    puts(wrong ? "events WRONG" : "events ok");
    return wrong != 0;
}
