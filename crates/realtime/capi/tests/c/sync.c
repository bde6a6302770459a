/* Tests condition variables, semaphores, event flags, and mutexes whose owner ends or has a lower priority. Prints "sync ok" if everything
 * is as the header says; a line "not tested: ..." names what this machine does not allow. No result depends on how long anything takes. */

#ifndef _GNU_SOURCE /* C++ defines it already */
#define _GNU_SOURCE
#endif
#include <punctual_rt.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int wrong = 0;

#define EXPECT(status, call) expect(__LINE__, #call, (status), (call))
#define CHECK(what) check(__LINE__, #what, (what) ? 1 : 0)
#define SOON (prt_now_ns() + 2000000)
#define NEVER ((uint64_t)-1)

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

static pthread_t start(void *(*body)(void *), void *data)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, data) == 0);
    return thread;
}

static void nulls(void)
{
    struct prt_mutex *mutex = prt_mutex_new();
    struct prt_cond *cond = prt_cond_new();
    struct prt_flags *flags = prt_flags_new(7);
    uint32_t set = 0;
    EXPECT(PRT_STATUS_NULL, prt_cond_wait(NULL, mutex));
    EXPECT(PRT_STATUS_NULL, prt_cond_wait(cond, NULL));
    EXPECT(PRT_STATUS_NULL, prt_cond_wait_until(cond, NULL, 0));
    EXPECT(PRT_STATUS_NULL, prt_cond_notify_one(NULL, mutex));
    EXPECT(PRT_STATUS_NULL, prt_cond_notify_all(cond, NULL));
    EXPECT(PRT_STATUS_NULL, prt_semaphore_post(NULL));
    EXPECT(PRT_STATUS_NULL, prt_semaphore_wait(NULL));
    EXPECT(PRT_STATUS_NULL, prt_semaphore_wait_until(NULL, 0));
    EXPECT(PRT_STATUS_NULL, prt_semaphore_try_wait(NULL));
    EXPECT(PRT_STATUS_NULL, prt_semaphore_count(NULL, &set));
    EXPECT(PRT_STATUS_NULL, prt_flags_set(NULL, 1));
    EXPECT(PRT_STATUS_NULL, prt_flags_clear(NULL, 1, &set));
    EXPECT(PRT_STATUS_NULL, prt_flags_get(flags, NULL));
    EXPECT(PRT_STATUS_NULL, prt_flags_take(flags, 1, PRT_MATCH_ANY, NULL));
    EXPECT(PRT_STATUS_NULL, prt_flags_try_wait(NULL, 1, PRT_MATCH_ANY, &set));
    EXPECT(PRT_STATUS_NULL, prt_flags_take_until(NULL, 1, PRT_MATCH_ANY, 0, &set));
    EXPECT(PRT_STATUS_OK, prt_flags_get(flags, &set));
    CHECK(set == 7);
    prt_flags_free(flags);
    EXPECT(PRT_STATUS_OK, prt_cond_free(cond));
    EXPECT(PRT_STATUS_OK, prt_cond_free(NULL));
    EXPECT(PRT_STATUS_OK, prt_mutex_free(mutex));
    prt_semaphore_free(NULL);
    prt_flags_free(NULL);
}

struct shared {
    struct prt_mutex *mutex;
    struct prt_cond *cond;
    struct prt_semaphore *semaphore;
    struct prt_flags *flags;
    uint64_t waiting, turns, seen; /* protected by the mutex */
    int tid, status, mine, refused;
};

static void *waits(void *data)
{
    struct shared *s = (struct shared *)data;
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(s->mutex));
    s->waiting++;
    while (s->turns == 0)
        EXPECT(PRT_STATUS_OK, prt_cond_wait(s->cond, s->mutex));
    CHECK(prt_mutex_is_mine(s->mutex));
    s->turns--;
    s->seen++;
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s->mutex));
    return NULL;
}

static void conditions(void)
{
    struct shared s;
    pthread_t threads[3];
    size_t n;
    memset(&s, 0, sizeof s);
    s.mutex = prt_mutex_new();
    s.cond = prt_cond_new();
    EXPECT(PRT_STATUS_REFUSED, prt_cond_wait(s.cond, s.mutex));
    EXPECT(PRT_STATUS_REFUSED, prt_cond_notify_all(s.cond, s.mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(s.mutex));
    EXPECT(PRT_STATUS_OK, prt_cond_notify_one(s.cond, s.mutex));
    EXPECT(PRT_STATUS_TIMED_OUT, prt_cond_wait_until(s.cond, s.mutex, SOON));
    CHECK(prt_mutex_is_mine(s.mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s.mutex));
    for (n = 0; n < 3; n++)
        threads[n] = start(waits, &s);
    for (;;) {
        uint64_t waiting;
        EXPECT(PRT_STATUS_OK, prt_mutex_lock(s.mutex));
        waiting = s.waiting;
        if (waiting == 3)
            break;
        EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s.mutex));
        prt_sleep_until(SOON);
    }
    EXPECT(PRT_STATUS_BUSY, prt_cond_free(s.cond));
    s.turns = 3;
    EXPECT(PRT_STATUS_OK, prt_cond_notify_one(s.cond, s.mutex));
    EXPECT(PRT_STATUS_OK, prt_cond_notify_all(s.cond, s.mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s.mutex));
    for (n = 0; n < 3; n++)
        pthread_join(threads[n], NULL);
    CHECK(s.seen == 3 && s.turns == 0);
    EXPECT(PRT_STATUS_OK, prt_cond_free(s.cond));
    EXPECT(PRT_STATUS_OK, prt_mutex_free(s.mutex));
}

static void *posts(void *data)
{
    struct shared *s = (struct shared *)data;
    size_t n;
    for (n = 0; n < 1000; n++)
        EXPECT(PRT_STATUS_OK, prt_semaphore_post(s->semaphore));
    EXPECT(PRT_STATUS_OK, prt_flags_set(s->flags, 4));
    return NULL;
}

static void semaphores_and_flags(void)
{
    struct shared s;
    struct prt_semaphore *full = prt_semaphore_new((uint32_t)-1);
    uint32_t set = 0;
    size_t n;
    pthread_t thread;
    memset(&s, 0, sizeof s);
    EXPECT(PRT_STATUS_FULL, prt_semaphore_post(full));
    EXPECT(PRT_STATUS_OK, prt_semaphore_try_wait(full));
    EXPECT(PRT_STATUS_OK, prt_semaphore_count(full, &set));
    CHECK(set == (uint32_t)-2);
    EXPECT(PRT_STATUS_NULL, prt_semaphore_count(full, NULL));
    prt_semaphore_free(full);
    s.semaphore = prt_semaphore_new(0);
    s.flags = prt_flags_new(1);
    EXPECT(PRT_STATUS_EMPTY, prt_semaphore_try_wait(s.semaphore));
    EXPECT(PRT_STATUS_TIMED_OUT, prt_semaphore_wait_until(s.semaphore, SOON));
    EXPECT(PRT_STATUS_INVALID, prt_flags_wait(s.flags, 0, PRT_MATCH_ALL, &set));
    EXPECT(PRT_STATUS_INVALID, prt_flags_wait(s.flags, 1, 2, &set));
    EXPECT(PRT_STATUS_EMPTY, prt_flags_try_wait(s.flags, 5, PRT_MATCH_ALL, &set));
    EXPECT(PRT_STATUS_TIMED_OUT, prt_flags_wait_until(s.flags, 5, PRT_MATCH_ALL, SOON, &set));
    EXPECT(PRT_STATUS_TIMED_OUT, prt_flags_take_until(s.flags, 6, PRT_MATCH_ANY, 0, &set));
    EXPECT(PRT_STATUS_OK, prt_flags_try_wait(s.flags, 5, PRT_MATCH_ANY, &set));
    CHECK(set == 1);
    thread = start(posts, &s);
    for (n = 0; n < 999; n++)
        EXPECT(PRT_STATUS_OK, prt_semaphore_wait(s.semaphore));
    EXPECT(PRT_STATUS_OK, prt_semaphore_wait_until(s.semaphore, NEVER));
    EXPECT(PRT_STATUS_OK, prt_flags_wait(s.flags, 5, PRT_MATCH_ALL, &set));
    CHECK(set == 5);
    EXPECT(PRT_STATUS_OK, prt_flags_take(s.flags, 4, PRT_MATCH_ANY, &set));
    EXPECT(PRT_STATUS_EMPTY, prt_flags_try_take(s.flags, 4, PRT_MATCH_ANY, &set));
    EXPECT(PRT_STATUS_OK, prt_flags_clear(s.flags, 3, &set));
    CHECK(set == 1);
    EXPECT(PRT_STATUS_OK, prt_flags_clear(s.flags, 3, NULL));
    pthread_join(thread, NULL);
    EXPECT(PRT_STATUS_EMPTY, prt_semaphore_try_wait(s.semaphore));
    prt_semaphore_free(s.semaphore);
    prt_flags_free(s.flags);
}

/* Reads a thread's state and returns its priority as the kernel sees them; -2 to -100 is real-time (proc_pid_stat(5)). */
static int kernel_sees(int tid, char *state)
{
    char path[64], text[1024], *after;
    int priority = 0;
    size_t got;
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    after = strrchr(text, ')');
    CHECK(after && sscanf(after, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d", state, &priority) == 2);
    return priority;
}

static int own_tid(void)
{
    return (int)syscall(SYS_gettid);
}

/* Returns once the thread sleeps. It stores its ID just before it waits for a mutex. */
static void asleep(const int *tid)
{
    char state = '?';
    while (__atomic_load_n(tid, __ATOMIC_ACQUIRE) == 0)
        prt_sleep_until(SOON);
    do {
        prt_sleep_until(SOON);
        kernel_sees(__atomic_load_n(tid, __ATOMIC_ACQUIRE), &state);
    } while (state != 'S');
}

/* Waits for a mutex that is held, and records how that ended. */
static void *comes_later(void *data)
{
    struct shared *s = (struct shared *)data;
    struct sched_param ten;
    memset(&ten, 0, sizeof ten);
    ten.sched_priority = 10;
    s->refused = sched_setscheduler(0, SCHED_FIFO, &ten) ? errno : 0;
    __atomic_store_n(&s->tid, own_tid(), __ATOMIC_RELEASE);
    s->status = prt_mutex_lock(s->mutex);
    s->mine = prt_mutex_is_mine(s->mutex);
    if (s->mine)
        EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s->mutex));
    return NULL;
}

/* Holds a mutex while a thread of higher priority waits for it: the kernel boosts the owner, and ends the boost afterwards. */
static void inheritance(void)
{
    struct shared s;
    char state;
    pthread_t high;
    int before = kernel_sees(own_tid(), &state);
    memset(&s, 0, sizeof s);
    s.mutex = prt_mutex_new();
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(s.mutex));
    high = start(comes_later, &s);
    asleep(&s.tid);
    if (s.refused)
        printf("not tested: priority inheritance: sched_setscheduler(SCHED_FIFO, 10): %s\n", strerror(s.refused));
    else
        CHECK(before >= 0 && kernel_sees(own_tid(), &state) == -11);
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(s.mutex));
    pthread_join(high, NULL);
    CHECK(kernel_sees(own_tid(), &state) == before);
    CHECK(s.status == PRT_STATUS_OK && s.mine);
    EXPECT(PRT_STATUS_OK, prt_mutex_free(s.mutex));
}

/* Ends while it holds the mutex; if there are flags, only after another thread waits for it. */
static void *dies(void *data)
{
    struct shared *s = (struct shared *)data;
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(s->mutex));
    EXPECT(PRT_STATUS_OK, prt_semaphore_post(s->semaphore));
    if (s->flags)
        asleep(&s->tid);
    return NULL;
}

/* A waiter gets the mutex of an owner that has died, and is told so; if nobody waited at that time, the mutex is lost. */
static void dead_owners(void)
{
    struct shared waited, lost;
    pthread_t owner, waiter;
    memset(&waited, 0, sizeof waited);
    memset(&lost, 0, sizeof lost);
    waited.mutex = prt_mutex_new();
    waited.flags = prt_flags_new(0);
    waited.semaphore = lost.semaphore = prt_semaphore_new(0);
    owner = start(dies, &waited);
    EXPECT(PRT_STATUS_OK, prt_semaphore_wait(waited.semaphore));
    waiter = start(comes_later, &waited);
    pthread_join(owner, NULL);
    pthread_join(waiter, NULL);
    CHECK(waited.status == PRT_STATUS_OWNER_DIED && waited.mine);
    EXPECT(PRT_STATUS_OK, prt_mutex_lock(waited.mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_unlock(waited.mutex));
    EXPECT(PRT_STATUS_OK, prt_mutex_free(waited.mutex));
    prt_flags_free(waited.flags);
    lost.mutex = prt_mutex_new();
    owner = start(dies, &lost);
    pthread_join(owner, NULL);
    EXPECT(PRT_STATUS_OWNER_DIED, prt_mutex_lock(lost.mutex));
    EXPECT(PRT_STATUS_OWNER_DIED, prt_mutex_lock_until(lost.mutex, SOON));
    CHECK(!prt_mutex_is_mine(lost.mutex));
    EXPECT(PRT_STATUS_BUSY, prt_mutex_free(lost.mutex));
    prt_semaphore_free(lost.semaphore);
}

int main(void)
{
    nulls();
    conditions();
    semaphores_and_flags();
    inheritance();
    dead_owners();
    puts(wrong ? "sync WRONG" : "sync ok");
    return wrong != 0;
}
