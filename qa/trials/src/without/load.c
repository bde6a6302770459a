// load SEED SOURCE…: what runs in a case of `cargo trials without`. Sources:
//   thread,NAME,SCHEDULING,PERIOD_US,WORK_US,TAIL_US,OFFSET_US,HOW: a thread that works in each period for WORK_US of
//     CPU time and a random time of TAIL_US on average (exponential); SCHEDULING is f50 (SCHED_FIFO) or n-10 (nice);
//     HOW is run, lock (it works with a mutex, with priority inheritance, that all such threads share), fork (a new
//     process works instead of the thread), feed (it releases the thread that is fed) or fed (it waits for that)
//   timers,COUNT,PERIOD_US: timers that expire at the same time, whose signal is ignored
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct source {
    char name[16], scheduling[8], how[8];
    long period, work, tail, offset;
    unsigned long long random;
};

static pthread_mutex_t mutex;
static int event;
static struct timespec start;
static double loops_per_us;

static void fail(const char *what) {
    perror(what);
    exit(3);
}

static void spin(double us) {
    for (volatile long left = (long)(us * loops_per_us); left > 0; left--);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

// The fastest of several loops: an interrupt only makes one slower.
static void calibrate(void) {
    double best = 1e9;
    loops_per_us = 1;
    for (int n = 0; n < 50; n++) {
        double from = now_us();
        spin(100000);
        double took = now_us() - from;
        if (took < best) best = took;
    }
    loops_per_us = 100000 / best;
}

// A number in (0, 1): splitmix64.
static double uniform(struct source *of) {
    unsigned long long z = of->random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return ((double)((z ^ z >> 31) >> 12) + 0.5) / 4503599627370496.0;
}

static void work(struct source *of) {
    double us = of->work - of->tail * log(uniform(of));
    if (!strcmp(of->how, "fork")) {
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (!child) {
            spin(us);
            _exit(0);
        }
        waitpid(child, 0, 0);
    } else if (!strcmp(of->how, "lock")) {
        pthread_mutex_lock(&mutex);
        spin(us);
        pthread_mutex_unlock(&mutex);
    } else {
        spin(us);
    }
    unsigned long long one = 1;
    if (!strcmp(of->how, "feed") && write(event, &one, sizeof one) != sizeof one) fail("write");
}

static void *thread(void *given) {
    struct source *of = given;
    int number = atoi(of->scheduling + 1);
    struct sched_param urgent = {.sched_priority = number};
    pthread_setname_np(pthread_self(), of->name);
    if (of->scheduling[0] == 'f') {
        if (sched_setscheduler(0, SCHED_FIFO, &urgent)) fail("sched_setscheduler");
    } else if (setpriority(PRIO_PROCESS, syscall(SYS_gettid), number)) {
        fail("setpriority");
    }
    long long next = start.tv_sec * 1000000000LL + start.tv_nsec + of->offset * 1000LL;
    for (;; next += of->period * 1000LL) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        unsigned long long count;
        if (strcmp(of->how, "fed")) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        else if (read(event, &count, sizeof count) != sizeof count) fail("read");
        work(of);
    }
    return 0;
}

static void timers(long count, long period) {
    struct itimerspec every = {.it_interval = {0, period * 1000}, .it_value = start};
    struct sigevent ignored = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    signal(SIGUSR1, SIG_IGN);
    for (long n = 0; n < count; n++)
        if (timer_create(CLOCK_MONOTONIC, &ignored, &timer) || timer_settime(timer, TIMER_ABSTIME, &every, 0)) fail("timer");
}

int main(int words, char **word) {
    if (words < 3) return 2;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &inherits);
    event = eventfd(0, 0);
    calibrate();
    clock_gettime(CLOCK_MONOTONIC, &start);
    start.tv_nsec += 50000000;
    if (start.tv_nsec >= 1000000000) start.tv_sec++, start.tv_nsec -= 1000000000;
    for (int n = 2; n < words; n++) {
        struct source *of = calloc(1, sizeof *of);
        of->random = strtoull(word[1], 0, 10) * 1000 + n;
        if (sscanf(word[n], "thread,%15[^,],%7[^,],%ld,%ld,%ld,%ld,%7s", of->name, of->scheduling, &of->period, &of->work,
                   &of->tail, &of->offset, of->how) == 7) {
            pthread_t made;
            if (pthread_create(&made, 0, thread, of)) fail("pthread_create");
        } else if (sscanf(word[n], "timers,%ld,%ld", &of->work, &of->period) == 2) {
            timers(of->work, of->period);
        } else {
            return 2;
        }
    }
    for (;;) pause();
}
