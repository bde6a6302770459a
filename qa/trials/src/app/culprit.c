// culprit MODE FILE: a thread "victim" at FIFO 60 with a period of 2 ms and 200 us of work, and a culprit that makes one
// of 14 cycles about 800 us longer. FILE gets the start and the end of each of these times.
// MODE: thief (a thread at FIFO 90 takes the CPU), holder (a thread at FIFO 40 holds a mutex with priority inheritance
// that the victim locks), burst (the victim works longer).
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST 100000
#define PERIOD 2000000LL
#define WORK 200000LL
#define MORE 800000LL
#define OFTEN 14
static long long begun[MOST], ended[MOST], first;
static volatile int count;
static volatile sig_atomic_t stop;
static pthread_mutex_t mutex;
static const char *mode;

static void on(int number) { (void)number; stop = 1; }

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void until(long long ns) {
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}

static void spin(clockid_t clock, long long ns) {
    long long from = now(clock);
    while (now(clock) - from < ns)
        for (volatile int n = 0; n < 500; n++);
}

static int urgent(const char *name, int priority) {
    struct sched_param wanted = {.sched_priority = priority};
    pthread_setname_np(pthread_self(), name);
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted);
}

static void did(long long from) {
    if (count < MOST) begun[count] = from, ended[count] = now(CLOCK_MONOTONIC), count++;
}

static void *other(void *nothing) {
    int is_thief = !strcmp(mode, "thief");
    if (urgent(mode, is_thief ? 90 : 40)) stop = 1;
    for (long long next = first + 5 * PERIOD - 50000; !stop; next += OFTEN * PERIOD) {
        until(next);
        if (!is_thief) pthread_mutex_lock(&mutex);
        long long from = now(CLOCK_MONOTONIC);
        spin(is_thief ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, MORE);
        did(from);
        if (!is_thief) pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

static void *victim(void *nothing) {
    if (urgent("victim", 60)) stop = 1;
    long long next = first;
    for (long cycle = 0; !stop; cycle++, next += PERIOD) {
        until(next);
        pthread_mutex_lock(&mutex);
        if (!strcmp(mode, "burst") && cycle % OFTEN == 0) {
            long long from = now(CLOCK_MONOTONIC);
            spin(CLOCK_THREAD_CPUTIME_ID, MORE);
            did(from);
        }
        spin(CLOCK_THREAD_CPUTIME_ID, WORK);
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

int main(int words, char **word) {
    if (words != 3) return 2;
    mode = word[1];
    signal(SIGTERM, on);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    memset(begun, 1, sizeof begun), memset(ended, 1, sizeof ended);
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &inherits);
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    sched_setaffinity(0, sizeof last, &last);
    first = now(CLOCK_MONOTONIC) + 10 * PERIOD;
    pthread_t one, two;
    if (pthread_create(&one, 0, victim, 0)) return 3;
    int has_other = strcmp(mode, "burst") != 0;
    if (has_other && pthread_create(&two, 0, other, 0)) return 3;
    pthread_join(one, 0);
    if (has_other) pthread_join(two, 0);
    FILE *file = fopen(word[2], "w");
    for (int n = 0; n < count; n++) fprintf(file, "%lld %lld\n", begun[n], ended[n]);
    return fclose(file);
}
