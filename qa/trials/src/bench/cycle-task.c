/* A task whose body sends a sample through a queue, as in the program that `punctual new` writes. */

#include <punctual_rt.h>
#include <stdio.h>

struct sample {
    uint64_t index;
    uint64_t late_ns;
};

static int step(const struct prt_cycle *cycle, void *data)
{
    struct sample sample = { cycle->index, cycle->woke_ns - cycle->scheduled_ns };
    prt_send((struct prt_sender *)data, &sample, sizeof sample);
    return PRT_NEXT_CONTINUE;
}

int main(void)
{
    struct prt_task_options options;
    struct prt_sender *to;
    struct prt_receiver *from;
    struct prt_task *task;
    struct prt *rt;
    if (prt_start(prt_builder_new(), &rt) || prt_queue_new(sizeof(struct sample), 4096, PRT_OVERFLOW_DROP_NEWEST, &to, &from) ||
        prt_task_options_init(&options, "stepped", PRT_POLICY_OTHER, 0, 20000000) || prt_task_start(rt, &options, step, to, &task))
        return fputs(prt_last_error(), stderr), 1;
    return prt_task_join(task, NULL);
}
