// stages NUMBER PERIOD_US WORK_US FILE: a chain of threads stage-0 … with decreasing priority, each released by the
// previous one through an eventfd, a futex, a pipe or a socket, in turn. For each pass, FILE gets the release of the first
// stage, and the end of the last one, before it waits again. A stage that reads a counter takes all passes for which it
// was released at once; the others take one at a time.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000000
#define STAGES 6
static long long released[MOST], ended[MOST], work;
static volatile long begun;
static volatile int number;
static volatile sig_atomic_t stop;
static int ends[STAGES][2];
static volatile int words[STAGES];
/// The last pass of each release of a stage, and how many releases there were.
static volatile long last_of[STAGES][MOST], sent[STAGES];

static void on(int signal) { (void)signal; stop = 1; }

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void busy(void) {
    for (long long until = now() + work; now() < until;);
}

static void urgent(int stage) {
    char name[16];
    snprintf(name, sizeof name, "stage-%d", stage);
    pthread_setname_np(pthread_self(), name);
    struct sched_param wanted = {.sched_priority = 80 - stage};
    if (sched_setscheduler(0, SCHED_FIFO, &wanted)) exit(3);
}

static void wake(int stage, long pass) {
    uint64_t one = 1;
    last_of[stage][sent[stage] % MOST] = pass;
    __sync_fetch_and_add(&sent[stage], 1);
    if (stage % 4 == 2) {
        __sync_fetch_and_add(&words[stage], 1);
        syscall(SYS_futex, &words[stage], FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    } else if (write(ends[stage][1], &one, 8) != 8) {
        exit(4);
    }
}

/// Records that the last stage has ended the passes up to `pass`.
static void finish(int stage, long *done, long pass) {
    if (stage + 1 < number) return;
    for (long long end = now(); *done < pass;) ended[++*done] = end;
}

static void *stage(void *given) {
    int own = (int)(intptr_t)given, seen = 0;
    long taken = 0, done = 0, pass = 0;
    sigset_t all;
    sigfillset(&all), pthread_sigmask(SIG_BLOCK, &all, 0);
    urgent(own);
    for (;;) {
        uint64_t read_words;
        long releases = 1;
        if (own % 4 == 2) {
            while (words[own] == seen) {
                finish(own, &done, pass);
                syscall(SYS_futex, &words[own], FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
            }
            seen++;
        } else {
            finish(own, &done, pass);
            if (read(ends[own][0], &read_words, 8) != 8) exit(5);
            if (own % 4 == 1) releases = (long)read_words;
        }
        taken += releases;
        pass = last_of[own][(taken - 1) % MOST];
        busy();
        if (own + 1 < number) wake(own + 1, pass);
    }
}

int main(int count, char **given) {
    if (count != 5) return 2;
    number = atoi(given[1]);
    long long period = atoll(given[2]) * 1000;
    work = atoll(given[3]) * 1000;
    signal(SIGTERM, on);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    for (int own = 1; own < number; own++) {
        if (own % 4 == 1) ends[own][0] = ends[own][1] = eventfd(0, 0);
        if (own % 4 == 3 && pipe(ends[own])) return 6;
        if (own % 4 == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[own])) return 6;
        pthread_t thread;
        pthread_create(&thread, 0, stage, (void *)(intptr_t)own);
    }
    usleep(50000);
    urgent(0);
    for (long long next = now() + period; !stop; next += period) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        busy();
        if (begun + 1 < MOST) released[++begun] = next;
        wake(1, begun);
    }
    usleep(50000);
    FILE *file = fopen(given[4], "w");
    for (int at = 1; at <= begun; at++)
        if (ended[at]) fprintf(file, "%lld %lld 0\n", released[at], ended[at]);
    return fclose(file);
}
