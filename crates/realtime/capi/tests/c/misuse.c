/* Incorrect calls: each returns a status and sets a text, and none crashes. Prints "misuse ok" if everything is as the header says. */

#include <punctual_rt.h>
#include <stdio.h>
#include <string.h>

static int wrong = 0;

/* Checks that a call returns this status, and sets a text unless it succeeds. */
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

static int nothing(const struct prt_cycle *cycle, void *data)
{
    (void)cycle;
    (void)data;
    return PRT_NEXT_CONTINUE;
}

static int sum_of_actions(const struct prt_rung *rung, void *data)
{
    *(int64_t *)data += rung->action;
    return rung->action == 2 ? PRT_NEXT_STOP : PRT_NEXT_CONTINUE;
}

static void nulls(void)
{
    struct prt *rt = NULL;
    struct prt_sender *sender = NULL;
    struct prt_task_options options;
    char line[PRT_LINE_LONGEST + 1];
    EXPECT(PRT_STATUS_NULL, prt_builder_lock_memory(NULL));
    EXPECT(PRT_STATUS_NULL, prt_builder_prefault_stack(NULL, 1));
    EXPECT(PRT_STATUS_NULL, prt_builder_check(NULL, 0, 0, 0));
    EXPECT(PRT_STATUS_NULL, prt_builder_check_deadline(NULL, 1, 2, 3, 0));
    EXPECT(PRT_STATUS_NULL, prt_start(NULL, &rt));
    EXPECT(PRT_STATUS_NULL, prt_start(prt_builder_new(), NULL));
    EXPECT(PRT_STATUS_NULL, prt_until_signal(NULL));
    EXPECT(PRT_STATUS_NULL, prt_stop(NULL));
    EXPECT(PRT_STATUS_NULL, prt_task_options_init(NULL, "x", 0, 0, 1));
    EXPECT(PRT_STATUS_NULL, prt_task_start(NULL, &options, nothing, NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_task_stop(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_task_join(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_task_stats(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_task_quantile(NULL, 0, 0.5, NULL));
    EXPECT(PRT_STATUS_NULL, prt_alarms_add(NULL, 0, 0));
    EXPECT(PRT_STATUS_NULL, prt_alarms_clear(NULL));
    EXPECT(PRT_STATUS_NULL, prt_alarms_stop(NULL));
    EXPECT(PRT_STATUS_NULL, prt_alarms_run(NULL, 0, sum_of_actions, NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_mutex_lock(NULL));
    EXPECT(PRT_STATUS_NULL, prt_mutex_lock_until(NULL, 0));
    EXPECT(PRT_STATUS_NULL, prt_mutex_try_lock(NULL));
    EXPECT(PRT_STATUS_NULL, prt_mutex_unlock(NULL));
    EXPECT(PRT_STATUS_NULL, prt_queue_new(4, 4, 0, NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_queue_new(4, 4, 0, &sender, NULL));
    EXPECT(PRT_STATUS_NULL, prt_sender_lock_memory(NULL));
    EXPECT(PRT_STATUS_NULL, prt_send(NULL, line, 4));
    EXPECT(PRT_STATUS_NULL, prt_receive(NULL, line, 4));
    EXPECT(PRT_STATUS_NULL, prt_sender_counts(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_receiver_counts(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_open(NULL, 4, 0, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_out_open("x", 4, 0, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_receive(NULL, line, sizeof line, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_receive_until(NULL, 0, line, sizeof line, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_clear(NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_out_send(NULL, "x", 1));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_counts(NULL, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_out_counts(NULL, NULL));
    CHECK(prt_report(NULL) == NULL && !prt_passed(NULL) && prt_epoch_ns(NULL) == 0 && prt_task_not_resident(NULL) == NULL);
    CHECK(prt_waiting(NULL) == 0 && !prt_mutex_is_mine(NULL) && prt_pipe_in_fd(NULL) == -1);
    EXPECT(PRT_STATUS_OK, prt_free(NULL));
    EXPECT(PRT_STATUS_OK, prt_task_free(NULL));
    EXPECT(PRT_STATUS_OK, prt_alarms_free(NULL));
    EXPECT(PRT_STATUS_OK, prt_mutex_free(NULL));
    prt_builder_free(NULL);
    prt_sender_free(NULL);
    prt_receiver_free(NULL);
    prt_pipe_in_free(NULL);
    prt_pipe_out_free(NULL);
}

static void checks(void)
{
    struct prt_builder *builder = prt_builder_new();
    struct prt *rt = NULL;
    EXPECT(PRT_STATUS_INVALID, prt_builder_check(builder, 99, 0, 0));
    EXPECT(PRT_STATUS_INVALID, prt_builder_check(builder, PRT_CHECK_PRIORITY, 100, 0));
    EXPECT(PRT_STATUS_INVALID, prt_builder_check(builder, PRT_CHECK_PREEMPT_RT, 0, 7));
    EXPECT(PRT_STATUS_INVALID, prt_builder_prefault_stack(builder, (size_t)-1));
    EXPECT(PRT_STATUS_OK, prt_builder_check(builder, PRT_CHECK_ISOLATED, 8000, PRT_SEVERITY_REQUIRED));
    EXPECT(PRT_STATUS_NOT_READY, prt_start(builder, &rt));
    CHECK(strstr(prt_last_error(), "CPU 8000 isolated") != NULL && rt == NULL);
    EXPECT(PRT_STATUS_INVALID, prt_try_scheduling(99, 1));
    EXPECT(PRT_STATUS_INVALID, prt_try_scheduling(PRT_POLICY_FIFO, 0));
    EXPECT(PRT_STATUS_INVALID, prt_try_scheduling(PRT_POLICY_DEADLINE, 0));
    EXPECT(PRT_STATUS_INVALID, prt_sleep_until((uint64_t)-1));
    EXPECT(PRT_STATUS_OK, prt_sleep_until(0));
}

/* Waiting for tasks in the body of a task is refused. */
static int waits_for_itself(const struct prt_cycle *cycle, void *data)
{
    struct prt *rt = *(struct prt **)data;
    (void)cycle;
    EXPECT(PRT_STATUS_DEADLOCK, prt_stop(rt));
    EXPECT(PRT_STATUS_DEADLOCK, prt_free(rt));
    return PRT_NEXT_STOP;
}

struct late {
    uint64_t bodies, safe;
};

/* Takes 30 periods in its first cycle. */
static int stalls(const struct prt_cycle *cycle, void *data)
{
    struct late *late = (struct late *)data;
    if (late->bodies++ == 0)
        while (prt_now_ns() < cycle->woke_ns + 30 * 1000000)
            ;
    return late->bodies == 5 ? PRT_NEXT_STOP : PRT_NEXT_CONTINUE;
}

static int safe(const struct prt_cycle *cycle, void *data)
{
    struct late *late = (struct late *)data;
    CHECK(cycle->skipped > 0);
    late->safe++;
    return PRT_NEXT_STOP;
}

static void options(struct prt *rt)
{
    struct prt_task_options o;
    struct prt_task *task = NULL;
    EXPECT(PRT_STATUS_OK, prt_task_options_init(&o, NULL, PRT_POLICY_OTHER, 0, 1000000));
    EXPECT(PRT_STATUS_NULL, prt_task_start(rt, &o, nothing, NULL, &task));
    o.name = "x";
    EXPECT(PRT_STATUS_NULL, prt_task_start(rt, &o, NULL, NULL, &task));
    EXPECT(PRT_STATUS_NULL, prt_task_start(rt, &o, nothing, NULL, NULL));
    o.name = "\xff";
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.name = "x";
    o.period_ns = 0;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.period_ns = (uint64_t)-1;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.period_ns = 1000000;
    o.policy = PRT_POLICY_FIFO;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.policy = PRT_POLICY_OTHER;
    o.miss = 9;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.miss = PRT_MISS_SAFE_STATE;
    EXPECT(PRT_STATUS_NULL, prt_task_start(rt, &o, nothing, NULL, &task));
    o.miss = PRT_MISS_SKIP;
    o.cpu = 8000;
    EXPECT(PRT_STATUS_REFUSED, prt_task_start(rt, &o, nothing, NULL, &task));
    o.cpu = -2;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    o.cpu = -1;
    o.reserved[3] = 1;
    EXPECT(PRT_STATUS_INVALID, prt_task_start(rt, &o, nothing, NULL, &task));
    CHECK(task == NULL);
}

/* Repeats the task until its first cycle is on time: a busy machine may start it a period late, and then nothing can be tested. */
static struct prt_task *late_task(struct prt *rt, int miss, struct late *seen, int *end)
{
    struct prt_task_options o;
    struct prt_task *task = NULL;
    int tries = 0;
    do {
        EXPECT(PRT_STATUS_OK, prt_task_free(task));
        memset(seen, 0, sizeof *seen);
        EXPECT(PRT_STATUS_OK, prt_task_options_init(&o, "late", PRT_POLICY_OTHER, 0, 1000000));
        o.miss = miss;
        o.catch_up_at_most = 1000000;
        o.safe_state = safe;
        o.safe_state_data = seen;
        EXPECT(PRT_STATUS_OK, prt_task_start(rt, &o, stalls, seen, &task));
        EXPECT(PRT_STATUS_OK, prt_task_join(task, end));
    } while (wrong == 0 && seen->bodies == 0 && ++tries < 100);
    CHECK(seen->bodies > 0);
    return task;
}

static void late(struct prt *rt, int miss, int expected_end)
{
    struct late seen;
    struct prt_stats stats;
    uint64_t ns = 0;
    int end = -1;
    struct prt_task *task = late_task(rt, miss, &seen, &end);
    CHECK(end == expected_end);
    EXPECT(PRT_STATUS_OK, prt_task_stats(task, &stats));
    CHECK(stats.released == stats.ran + stats.skipped + stats.pending);
    CHECK(stats.ran == seen.bodies && stats.lateness.count == stats.ran);
    CHECK(miss == PRT_MISS_CATCH_UP ? stats.pending > 0 && stats.skipped == 0 : stats.pending == 0 && stats.skipped >= 29);
    CHECK(seen.safe == (miss == PRT_MISS_SAFE_STATE));
    EXPECT(PRT_STATUS_INVALID, prt_task_quantile(task, 2, 0.5, &ns));
    EXPECT(PRT_STATUS_INVALID, prt_task_quantile(task, 0, 1.5, &ns));
    EXPECT(PRT_STATUS_OK, prt_task_quantile(task, PRT_MEASURE_EXECUTION, 1.0, &ns));
    CHECK(ns == stats.execution.max_ns && ns >= 29 * 1000000);
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
}

static void tasks(void)
{
    struct prt_task_options o;
    struct prt_task *task = NULL;
    struct prt *rt = NULL;
    uint64_t ns = 0;
    int end = -1;
    EXPECT(PRT_STATUS_OK, prt_start(prt_builder_new(), &rt));
    CHECK(prt_passed(rt) && prt_epoch_ns(rt) > 0 && prt_epoch_ns(rt) <= prt_now_ns() && prt_report(rt)[0] == 0);
    options(rt);
    EXPECT(PRT_STATUS_OK, prt_task_options_init(&o, "self", PRT_POLICY_OTHER, 0, 1000000));
    EXPECT(PRT_STATUS_OK, prt_task_start(rt, &o, waits_for_itself, &rt, &task));
    EXPECT(PRT_STATUS_OK, prt_task_join(task, &end));
    CHECK(end == PRT_END_RETURNED);
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
    o.without_execution = true;
    o.period_ns = 3600000000000u;
    EXPECT(PRT_STATUS_OK, prt_task_start(rt, &o, nothing, NULL, &task));
    EXPECT(PRT_STATUS_EMPTY, prt_task_quantile(task, PRT_MEASURE_LATENESS, 0.5, &ns));
    EXPECT(PRT_STATUS_OK, prt_task_stop(task, &end));
    CHECK(end == PRT_END_STOPPED);
    EXPECT(PRT_STATUS_OK, prt_task_stop(task, NULL));
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
    late(rt, PRT_MISS_SKIP, PRT_END_RETURNED);
    late(rt, PRT_MISS_CATCH_UP, PRT_END_RETURNED);
    late(rt, PRT_MISS_STOP, PRT_END_MISSED);
    late(rt, PRT_MISS_SAFE_STATE, PRT_END_RETURNED);
    /* A task does not outlive its program, but its handle does. */
    EXPECT(PRT_STATUS_OK, prt_task_start(rt, &o, nothing, NULL, &task));
    EXPECT(PRT_STATUS_OK, prt_free(rt));
    EXPECT(PRT_STATUS_OK, prt_task_join(task, &end));
    CHECK(end == PRT_END_STOPPED);
    EXPECT(PRT_STATUS_OK, prt_task_free(task));
}

static void alarms(void)
{
    struct prt_alarms *set = prt_alarms_new();
    int64_t sum = 0;
    size_t n, done = 9;
    EXPECT(PRT_STATUS_NULL, prt_alarms_run(set, 0, NULL, NULL, NULL));
    EXPECT(PRT_STATUS_INVALID, prt_alarms_add(set, (uint64_t)-1, 0));
    EXPECT(PRT_STATUS_INVALID, prt_alarms_run(set, (uint64_t)-1, sum_of_actions, &sum, &done));
    for (n = 0; n < PRT_ALARMS_MOST; n++)
        EXPECT(PRT_STATUS_OK, prt_alarms_add(set, n, n == 10 ? 2 : 1));
    EXPECT(PRT_STATUS_FULL, prt_alarms_add(set, 0, 0));
    EXPECT(PRT_STATUS_OK, prt_alarms_run(set, prt_now_ns(), sum_of_actions, &sum, &done));
    CHECK(done == 11 && sum == 12);
    EXPECT(PRT_STATUS_OK, prt_alarms_stop(set));
    EXPECT(PRT_STATUS_OK, prt_alarms_run(set, prt_now_ns(), sum_of_actions, &sum, &done));
    CHECK(done == 0);
    EXPECT(PRT_STATUS_OK, prt_alarms_clear(set));
    EXPECT(PRT_STATUS_OK, prt_alarms_add(set, 0, 5));
    EXPECT(PRT_STATUS_OK, prt_alarms_run(set, 0, sum_of_actions, &sum, NULL));
    CHECK(sum == 17);
    EXPECT(PRT_STATUS_OK, prt_alarms_free(set));
}

static void mutexes(void)
{
    struct prt_mutex *mutex = prt_mutex_new();
    EXPECT(PRT_STATUS_REFUSED, prt_mutex_unlock(mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(mutex));
    CHECK(prt_mutex_is_mine(mutex));
    EXPECT(PRT_STATUS_DEADLOCK, prt_mutex_lock(mutex));
    EXPECT(PRT_STATUS_DEADLOCK, prt_mutex_try_lock(mutex));
    EXPECT(PRT_STATUS_DEADLOCK, prt_mutex_free(mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_lock_until(mutex, 0));
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(mutex));
    CHECK(!prt_mutex_is_mine(mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_free(mutex));
}

static void queue_of(size_t size)
{
    static unsigned char in[PRT_QUEUE_LARGEST], out[PRT_QUEUE_LARGEST + 1];
    struct prt_sender *sender = NULL;
    struct prt_receiver *receiver = NULL;
    struct prt_queue_counts counts;
    size_t n;
    for (n = 0; n < size; n++)
        in[n] = (unsigned char)(n * 7 + size);
    memset(out, 0xee, sizeof out);
    EXPECT(PRT_STATUS_OK, prt_queue_new(size, 2, PRT_OVERFLOW_REFUSE, &sender, &receiver));
    EXPECT(PRT_STATUS_EMPTY, prt_receive(receiver, out, size));
    EXPECT(PRT_STATUS_INVALID, prt_send(sender, in, size + 1));
    EXPECT(PRT_STATUS_NULL, prt_send(sender, NULL, size));
    EXPECT(PRT_STATUS_OK, prt_send(sender, in, size));
    EXPECT(PRT_STATUS_OK, prt_send(sender, in, size));
    EXPECT(PRT_STATUS_FULL, prt_send(sender, in, size));
    EXPECT(PRT_STATUS_NULL, prt_receive(receiver, NULL, size));
    EXPECT(PRT_STATUS_INVALID, prt_receive(receiver, out, size - 1));
    EXPECT(PRT_STATUS_OK, prt_receive(receiver, out, size));
    CHECK(memcmp(in, out, size) == 0 && out[size] == 0xee && prt_waiting(receiver) == 1);
    EXPECT(PRT_STATUS_OK, prt_sender_counts(sender, &counts));
    CHECK(counts.sent == 2 && counts.received == 1 && counts.refused == 1 && counts.dropped == 0);
    prt_sender_free(sender);
    EXPECT(PRT_STATUS_OK, prt_receive(receiver, out, size));
    EXPECT(PRT_STATUS_EMPTY, prt_receive(receiver, out, size));
    prt_receiver_free(receiver);
}

static void queues(void)
{
    static const size_t sizes[] = {1, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 513, 1024, 1025, 2048, 2049, 4096};
    struct prt_sender *sender = NULL;
    struct prt_receiver *receiver = NULL;
    size_t n;
    for (n = 0; n < sizeof sizes / sizeof *sizes; n++)
        queue_of(sizes[n]);
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(0, 2, 0, &sender, &receiver));
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(PRT_QUEUE_LARGEST + 1, 2, 0, &sender, &receiver));
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(8, 0, 0, &sender, &receiver));
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(8, (size_t)-1, 0, &sender, &receiver));
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(8, 2, 5, &sender, &receiver));
    EXPECT(PRT_STATUS_INVALID, prt_queue_new(8, 2, PRT_OVERFLOW_DROP_OLDEST, &sender, &receiver));
    CHECK(strstr(prt_last_error(), "PRT_OVERFLOW_DROP_OLDEST is for mailboxes"));
    CHECK(sender == NULL && receiver == NULL);
}

static void pipes(const char *at)
{
    struct prt_pipe_out *out = NULL, *second = NULL;
    struct prt_pipe_in *in = NULL;
    char line[PRT_LINE_LONGEST + 1];
    EXPECT(PRT_STATUS_INVALID, prt_pipe_out_open(at, 0, 0, &out));
    EXPECT(PRT_STATUS_INVALID, prt_pipe_out_open(at, PRT_PIPE_MOST + 1, 0, &out));
    EXPECT(PRT_STATUS_REFUSED, prt_pipe_out_open("/nowhere/at/all", 1, 0, &out));
    EXPECT(PRT_STATUS_OK, prt_pipe_out_open(at, 1, PRT_OVERFLOW_DROP_NEWEST, &out));
    EXPECT(PRT_STATUS_REFUSED, prt_pipe_out_open(at, 1, 0, &second));
    EXPECT(PRT_STATUS_NULL, prt_pipe_out_send(out, NULL, 1));
    EXPECT(PRT_STATUS_INVALID, prt_pipe_out_send(out, "a\nb", 3));
    memset(line, 'x', sizeof line);
    EXPECT(PRT_STATUS_INVALID, prt_pipe_out_send(out, line, sizeof line));
    EXPECT(PRT_STATUS_OK, prt_pipe_out_send(out, line, sizeof line - 1));
    prt_pipe_out_free(out);
    EXPECT(PRT_STATUS_INVALID, prt_pipe_in_open(at, 1, PRT_OVERFLOW_DROP_OLDEST, &in));
    EXPECT(PRT_STATUS_OK, prt_pipe_in_open(at, 1, 0, &in));
    CHECK(prt_pipe_in_fd(in) >= 0);
    EXPECT(PRT_STATUS_OK, prt_pipe_in_clear(in));
    EXPECT(PRT_STATUS_INVALID, prt_pipe_in_receive(in, line, PRT_LINE_LONGEST, NULL));
    EXPECT(PRT_STATUS_NULL, prt_pipe_in_receive(in, NULL, sizeof line, NULL));
    EXPECT(PRT_STATUS_EMPTY, prt_pipe_in_receive(in, line, sizeof line, NULL));
    EXPECT(PRT_STATUS_TIMED_OUT, prt_pipe_in_receive_until(in, prt_now_ns(), line, sizeof line, NULL));
    prt_pipe_in_free(in);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && prt_last_error()[0] == 0 && prt_version()[0] != 0);
    CHECK(strcmp(prt_status_name(-1), "unknown status") == 0 && strcmp(prt_status_name(PRT_STATUS_PANIC), "panic") == 0);
    nulls();
    checks();
    tasks();
    alarms();
    mutexes();
    queues();
    pipes(argv[argc - 1]);
    puts(wrong ? "misuse WRONG" : "misuse ok");
    return wrong != 0;
}
