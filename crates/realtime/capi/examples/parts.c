/* Communication between threads: a mutex with priority inheritance, a queue, pipes to the shell, and alarms.
 *
 *   parts IN OUT      two FIFOs, such as /run/parts-in and /run/parts-out; then, in another shell:
 *   cat /run/parts-out & echo d21 > /run/parts-in; echo end > /run/parts-in
 *
 * One task takes lines from IN, counts them under the mutex, puts their lengths into the queue and answers on OUT. */

#include <punctual_rt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct parts {
    struct prt_mutex *mutex;
    struct prt_sender *lengths;
    struct prt_pipe_in *in;
    struct prt_pipe_out *out;
    uint64_t lines; /* protected by the mutex */
};

/* Real-time: no allocation, no lock except the mutex, no output. */
static int echo(const struct prt_cycle *cycle, void *data)
{
    struct parts *parts = (struct parts *)data;
    char line[PRT_LINE_LONGEST + 1];
    size_t length;
    (void)cycle;
    while (prt_pipe_in_receive(parts->in, line, sizeof line, &length) == PRT_STATUS_OK) {
        uint32_t value = (uint32_t)length;
        if (strcmp(line, "end") == 0)
            return PRT_NEXT_STOP;
        if (prt_mutex_lock(parts->mutex) == PRT_STATUS_OK) {
            parts->lines++;
            prt_mutex_unlock(parts->mutex);
        }
        prt_send(parts->lengths, &value, sizeof value);
        prt_pipe_out_send(parts->out, line, length);
    }
    return PRT_NEXT_CONTINUE;
}

static int ring(const struct prt_rung *rung, void *data)
{
    *(int64_t *)data = *(int64_t *)data * 10 + rung->action;
    return rung->woke_ns < rung->due_ns ? PRT_NEXT_STOP : PRT_NEXT_CONTINUE;
}

/* The pulse of a radio bit. All times count from one epoch, so that delays do not add up. */
static int pulse(void)
{
    struct prt_alarms *alarms = prt_alarms_new();
    int64_t seen = 0;
    size_t done = 0;
    prt_alarms_add(alarms, 4 * 360000, 3);
    prt_alarms_add(alarms, 0, 1);
    prt_alarms_add(alarms, 360000, 2);
    if (prt_alarms_run(alarms, prt_now_ns(), ring, &seen, &done))
        return 1;
    printf("alarms %zu order %" PRId64 "\n", done, seen);
    return prt_alarms_free(alarms);
}

static void lengths(struct prt_receiver *receiver)
{
    struct prt_queue_counts counts;
    uint32_t length;
    while (prt_receive(receiver, &length, sizeof length) == PRT_STATUS_OK)
        printf("length %" PRIu32 "\n", length);
    if (prt_receiver_counts(receiver, &counts) == PRT_STATUS_OK)
        printf("queue sent %" PRIu64 " received %" PRIu64 " dropped %" PRIu64 "\n", counts.sent, counts.received, counts.dropped);
}

static int run(struct parts *parts, struct prt_receiver *receiver)
{
    struct prt_task_options options;
    struct prt_pipe_counts counts;
    struct prt_task *task = NULL;
    struct prt *rt = NULL;
    int end = -1;
    if (prt_start(prt_builder_new(), &rt))
        return 1;
    prt_task_options_init(&options, "echo", PRT_POLICY_OTHER, 0, 1000000);
    if (prt_task_start(rt, &options, echo, parts, &task) || prt_task_join(task, &end))
        return 1;
    lengths(receiver);
    prt_pipe_in_counts(parts->in, &counts);
    printf("end %d lines %" PRIu64 " in %" PRIu64 " too long %" PRIu64 "\n", end, parts->lines, counts.received, counts.malformed);
    prt_task_free(task);
    return prt_free(rt);
}

int main(int argc, char **argv)
{
    struct prt_receiver *receiver = NULL;
    struct parts parts;
    memset(&parts, 0, sizeof parts);
    if (argc != 3) {
        fprintf(stderr, "usage: parts IN OUT\n");
        return 2;
    }
    parts.mutex = prt_mutex_new();
    if (prt_queue_new(sizeof(uint32_t), 64, PRT_OVERFLOW_DROP_NEWEST, &parts.lengths, &receiver) ||
        prt_pipe_in_open(argv[1], 64, PRT_OVERFLOW_REFUSE, &parts.in) ||
        prt_pipe_out_open(argv[2], 64, PRT_OVERFLOW_DROP_NEWEST, &parts.out) || pulse() || run(&parts, receiver)) {
        fprintf(stderr, "parts: %s\n", prt_last_error());
        return 1;
    }
    prt_pipe_out_free(parts.out);
    prt_pipe_in_free(parts.in);
    prt_sender_free(parts.lengths);
    prt_receiver_free(receiver);
    prt_mutex_free(parts.mutex);
    return 0;
}
