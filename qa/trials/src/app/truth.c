// truth MODE PERIOD_US WORK_US PRIORITY FILE: a loop that writes the release, end and CPU time of each cycle to FILE.
// MODE: sleep (clock_nanosleep), timerfd, epoll (on a timerfd), posix (timer_create and sigwait), late (sleep; every
// 100th cycle works for 2.5 periods, and the missed releases are given up), behind (likewise, but they are caught up).
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000000
static long long released[MOST], ended[MOST], used[MOST];
static volatile sig_atomic_t stop;

static void on(int number) { (void)number; stop = 1; }

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct timespec spec(long long ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

int main(int count, char **words) {
    if (count != 6) return 2;
    const char *mode = words[1];
    long long period = atoll(words[2]) * 1000, work = atoll(words[3]) * 1000;
    signal(SIGTERM, on);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    memset(released, 1, sizeof released), memset(ended, 1, sizeof ended), memset(used, 1, sizeof used);
    prctl(PR_SET_NAME, "truth");
    struct sched_param urgent = {.sched_priority = atoi(words[4])};
    if (sched_setscheduler(0, SCHED_FIFO, &urgent)) return 3;
    long long next = now(CLOCK_MONOTONIC) + period;
    struct itimerspec every = {.it_value = spec(next), .it_interval = spec(period)};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
    sigset_t signals;
    timer_t own;
    sigemptyset(&signals), sigaddset(&signals, SIGRTMIN);
    if (!strcmp(mode, "posix")) {
        sigprocmask(SIG_BLOCK, &signals, 0);
        struct sigevent notice = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
        timer_create(CLOCK_MONOTONIC, &notice, &own);
        timer_settime(own, TIMER_ABSTIME, &every, 0);
    } else {
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &every, 0);
    }
    int n = 0;
    for (long long cycle = 1; !stop; cycle++) {
        int number;
        long long begun;
        uint64_t expiries = 1;
        struct timespec until = spec(next);
        if (!strcmp(mode, "timerfd")) {
            if (read(timer, &expiries, 8) != 8) continue;
            begun = now(CLOCK_THREAD_CPUTIME_ID);
        } else if (!strcmp(mode, "epoll")) {
            if (epoll_wait(poll, &event, 1, -1) != 1) continue;
            begun = now(CLOCK_THREAD_CPUTIME_ID);
            if (read(timer, &expiries, 8) != 8) continue;
        } else if (!strcmp(mode, "posix")) {
            sigwait(&signals, &number);
            begun = now(CLOCK_THREAD_CPUTIME_ID);
            expiries += timer_getoverrun(own);
        } else {
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
            begun = now(CLOCK_THREAD_CPUTIME_ID);
        }
        int is_long = cycle % 100 == 0 && (!strcmp(mode, "late") || !strcmp(mode, "behind"));
        long long most = is_long ? period * 5 / 2 : work;
        // Reading the CPU clock is a system call, so most of the work is done without it.
        while (now(CLOCK_THREAD_CPUTIME_ID) - begun < most)
            for (volatile int spin = 0; spin < 500; spin++);
        long long cpu = now(CLOCK_THREAD_CPUTIME_ID), after = now(CLOCK_MONOTONIC);
        if (n < MOST) released[n] = next, ended[n] = after, used[n] = cpu - begun, n++;
        next += period * (long long)expiries;
        while (!strcmp(mode, "late") && next < after) next += period;
    }
    FILE *file = fopen(words[5], "w");
    for (int at = 0; at < n; at++) fprintf(file, "%lld %lld %lld\n", released[at], ended[at], used[at]);
    return fclose(file);
}
