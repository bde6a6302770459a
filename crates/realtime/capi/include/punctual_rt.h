/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C and C++: periodic real-time tasks on Linux that account for every release, alarms, a mutex with priority
 * inheritance, a queue, pipes to the shell, statistics. Guide: docs/c-interface.md.
 *
 * - Functions that return int answer one of enum prt_status, 0 for success; prt_last_error() has the text.
 * - A pointer that is NULL where a value is needed is an error. Any other must be what the function asks for.
 * - Handles belong to the caller from ..._new(), ..._open() or ..._start() until ..._free(). While one is freed nobody may use it.
 * - Times are nanoseconds on CLOCK_MONOTONIC, intervals nanoseconds.
 * - "Threads" says who may call; "an ordinary one" is a thread without deadlines: such a call may allocate and block. "Real-time"
 *   means that it neither allocates, locks, formats nor faults, and makes no system call that is not named.
 * - No panic of the library crosses this boundary: it is PRT_STATUS_PANIC, or ends the process where the library is built with
 *   panic=abort, as in its release profile.
 *
 * Made by tests/it/header.rs: do not edit. */

#ifndef PUNCTUAL_RT_H
#define PUNCTUAL_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The most alarms a set holds.
#define PRT_ALARMS_MOST 64

// The longest line of a pipe, bytes, without its newline.
#define PRT_LINE_LONGEST 62

// The most lines that wait in a pipe.
#define PRT_PIPE_MOST 4096

// The largest value of a queue, bytes; send a pointer or an index for more.
#define PRT_QUEUE_LARGEST 4096

// What a function answers.
enum prt_status {
  // Done.
  PRT_STATUS_OK = 0,
  // A pointer is NULL where it must not be.
  PRT_STATUS_NULL = 1,
  // An argument is out of range.
  PRT_STATUS_INVALID = 2,
  // A check that the program requires failed, or could not be made. The text is the report.
  PRT_STATUS_NOT_READY = 3,
  // The system refused: privilege, limits, files. The text says what and what to do.
  PRT_STATUS_REFUSED = 4,
  // Nothing there: an empty queue or pipe.
  PRT_STATUS_EMPTY = 5,
  // No room: a full queue, pipe or set. What was to be sent is still the caller's alone.
  PRT_STATUS_FULL = 6,
  // The time came first.
  PRT_STATUS_TIMED_OUT = 7,
  // It is in use, by another thread: a mutex that is held.
  PRT_STATUS_BUSY = 8,
  // Waiting would never end: the thread holds the mutex already, or a task waits for its own end.
  PRT_STATUS_DEADLOCK = 9,
  // The mutex's owner ended while it held it: see prt_mutex_lock().
  PRT_STATUS_OWNER_DIED = 10,
  // A panic inside the library: a defect of it. What the call was about is in an unknown state.
  PRT_STATUS_PANIC = 11,
};

// A scheduling policy: sched(7).
enum prt_policy {
  // SCHED_OTHER; the priority is a nice value, −20 to 19.
  PRT_POLICY_OTHER = 0,
  // SCHED_FIFO; the priority is 1 to 99.
  PRT_POLICY_FIFO = 1,
  // SCHED_RR; the priority is 1 to 99.
  PRT_POLICY_RR = 2,
  // SCHED_DEADLINE; `runtime_ns` of each period, by `deadline_ns`.
  PRT_POLICY_DEADLINE = 3,
};

// What a real-time program may want of its machine. `punctual audit` checks far more, once for the machine.
enum prt_check {
  // The kernel is preemptible everywhere: CONFIG_PREEMPT_RT. No argument.
  PRT_CHECK_PREEMPT_RT = 0,
  // This priority of SCHED_FIFO is granted: it is tried and put back.
  PRT_CHECK_PRIORITY = 1,
  // So many bytes may be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
  PRT_CHECK_LOCKED_MEMORY = 2,
  // Timers have nanosecond resolution. No argument.
  PRT_CHECK_HIGH_RESOLUTION_TIMERS = 3,
  // The clock is read without a system call. No argument.
  PRT_CHECK_FAST_CLOCK = 4,
  // Real-time tasks are not stopped after 950 ms of each second. No argument.
  PRT_CHECK_NO_THROTTLING = 5,
  // No thread of another program has this priority or a higher one; kernel threads count.
  PRT_CHECK_FOREIGN_RT_ABOVE = 6,
  // The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME. No argument.
  PRT_CHECK_NO_RT_TIME_LIMIT = 7,
  // This CPU is kept free of other tasks.
  PRT_CHECK_ISOLATED = 8,
  // This CPU's frequency is not scaled down.
  PRT_CHECK_FIXED_FREQUENCY = 9,
};

// How much a check weighs.
enum prt_severity {
  // The program starts anyway; the report says that the check failed.
  PRT_SEVERITY_WANTED = 0,
  // The program does not start without it.
  PRT_SEVERITY_REQUIRED = 1,
};

// What a body answers; every other number is as PRT_NEXT_STOP.
enum prt_next {
  // Wait for the next release.
  PRT_NEXT_CONTINUE = 0,
  // End the task.
  PRT_NEXT_STOP = 1,
};

// What becomes of releases that pass before the task wakes. Whichever it is: released == ran + skipped + pending.
enum prt_miss {
  // They are given up and counted; the next release is the first in the future, on the same grid.
  PRT_MISS_SKIP = 0,
  // They run at once, one after the other; `catch_up_at_most` are owed, older ones are given up and counted.
  PRT_MISS_CATCH_UP = 1,
  // The task ends without running the late release.
  PRT_MISS_STOP = 2,
  // `safe_state` runs in place of the body for the late release; all missed count as skipped, the late one too.
  PRT_MISS_SAFE_STATE = 3,
};

// How a task ended.
enum prt_end {
  // Its body, or its safe state, answered PRT_NEXT_STOP.
  PRT_END_RETURNED = 0,
  // It was stopped.
  PRT_END_STOPPED = 1,
  // All cycles it was to run have run.
  PRT_END_CYCLES = 2,
  // It was a period late, and its policy is PRT_MISS_STOP.
  PRT_END_MISSED = 3,
  // It failed inside the library: a defect of it.
  PRT_END_FAILED = 4,
};

// Which times of a task.
enum prt_measure {
  // How late it woke.
  PRT_MEASURE_LATENESS = 0,
  // From waking to the body's return.
  PRT_MEASURE_EXECUTION = 1,
};

// What becomes of a value for which there is no room. Each is counted.
enum prt_overflow {
  // PRT_STATUS_FULL: the sender decides.
  PRT_OVERFLOW_REFUSE = 0,
  // It is dropped, and the sender is not told.
  PRT_OVERFLOW_DROP_NEWEST = 1,
};

// Which of the flags asked for have to be set.
enum prt_match {
  // At least one.
  PRT_MATCH_ANY = 0,
  // Every one.
  PRT_MATCH_ALL = 1,
};

// A real-time program that has started: makes tasks, and stops them together.
struct prt;

// Up to PRT_ALARMS_MOST alarms, each so long after one epoch and with a number that says what is to be done then. Each is absolute: if one
// is carried out late, the next still comes at its own time.
struct prt_alarms;

// What a program asks for before it starts. Belongs to one thread.
struct prt_builder;

// A condition that threads wait for while another changes what a prt_mutex guards. A notified thread moves in the kernel to the mutex's
// queue, wakes once, as its owner, and lends its priority meanwhile: FUTEX_WAIT_REQUEUE_PI, futex(2). All waiters of one condition
// variable use the same mutex. A wait can end without a notification: wait in a loop. For threads of one process.
struct prt_cond;

// A group of 32 flags. Threads set and clear them; others wait until some or all of a mask are set. Flags are states, not counts: one that
// is set twice before it is cleared was set once. Nobody owns them: no priority is lent. For threads of one process.
struct prt_flags;

// A mutex of one owner at a time. While a thread waits, the owner runs at least at that thread's priority, so a thread of a priority in
// between delays the waiter by nothing: FUTEX_LOCK_PI2, futex(2). Waiters are served by priority. For threads of one process; not for
// signal handlers, and not in the child of fork(2).
struct prt_mutex;

// Lines from the shell to a real-time thread: `echo d21 > /run/NAME`.
struct prt_pipe_in;

// Lines from a real-time thread to the shell: `cat /run/NAME`.
struct prt_pipe_out;

// The reading end of a queue.
struct prt_receiver;

// A count that prt_semaphore_post() raises and prt_semaphore_wait() lowers, or waits to be raised. Waiters wake by real-time priority;
// one that comes meanwhile may take the count first. Nobody owns it, so no priority is lent: guard data with a prt_mutex. For threads of
// one process.
struct prt_semaphore;

// The writing end of a queue.
struct prt_sender;

// A task that was started.
struct prt_task;

// An alarm that is carried out. Times are on CLOCK_MONOTONIC.
struct prt_rung {
  // The number it was added with.
  int64_t action;
  // When it was due.
  uint64_t due_ns;
  // When the thread woke for it.
  uint64_t woke_ns;
};

// What carries an alarm out, in the thread that called prt_alarms_run(); the rules of a prt_body hold, also for the answer.
typedef int (*prt_alarm_action)(const struct prt_rung *rung, void *data);

// What a pipe has seen.
struct prt_pipe_counts {
  // Lines read from the FIFO and handed to the real-time side.
  uint64_t received;
  // Lines of the real-time side written to the FIFO.
  uint64_t sent;
  // Lines dropped for want of room.
  uint64_t dropped;
  // Lines that went back to the real-time sender for want of room.
  uint64_t refused;
  // Lines that are longer than PRT_LINE_LONGEST.
  uint64_t malformed;
};

// What a queue has seen: sent == received + waiting + what was never taken out.
struct prt_queue_counts {
  // Values put in.
  uint64_t sent;
  // Values taken out.
  uint64_t received;
  // Values that found no room and were dropped.
  uint64_t dropped;
  // Values that found no room and went back.
  uint64_t refused;
};

// What is known of a distribution of times, exactly. Quantiles: prt_task_quantile().
struct prt_distribution {
  // How many samples; with 0 the others are 0 and mean nothing.
  uint64_t count;
  // The smallest, ns.
  uint64_t min_ns;
  // The largest, ns.
  uint64_t max_ns;
  // The mean, ns.
  double mean_ns;
};

// A task's statistics at some time.
struct prt_stats {
  // When this was read, ns on CLOCK_MONOTONIC.
  uint64_t at_ns;
  // Releases accounted for: ran + skipped + pending.
  uint64_t released;
  // Releases whose body ran, to its end or (one at most) until now.
  uint64_t ran;
  // Releases given up.
  uint64_t skipped;
  // Releases that are due and still will run.
  uint64_t pending;
  // Bodies that returned after the deadline of their release.
  uint64_t deadline_misses;
  // How late the task woke, a sample for each release that ran.
  struct prt_distribution lateness;
  // From waking to the body's return, also what preempted it; empty with `without_execution`.
  struct prt_distribution execution;
  // Number of the release whose wakeup was latest; 0 where none was late.
  uint64_t worst_index;
  // When that one should have run, ns on CLOCK_MONOTONIC; 0 where none was late.
  uint64_t worst_scheduled_ns;
  // Page faults of its thread since the first release, minor and major; −1 where the kernel does not tell.
  int64_t page_faults;
  // Times it gave up the CPU by itself, about one a release; or −1.
  int64_t voluntary_switches;
  // Times it was preempted; or −1.
  int64_t involuntary_switches;
  // Times it went on on another CPU; or −1.
  int64_t migrations;
};

// One release of a task, as its body sees it. Times are on CLOCK_MONOTONIC.
struct prt_cycle {
  // Number of the release, from 0, counting also those that were skipped.
  uint64_t index;
  // When it should have run: first release + index × period, whatever happened before.
  uint64_t scheduled_ns;
  // When the thread woke for it.
  uint64_t woke_ns;
  // Releases given up between this one and the next that will run.
  uint64_t skipped;
  // Releases that are due and will still run: PRT_MISS_CATCH_UP only.
  uint64_t pending;
};

// The body of a task. It runs in the task's thread at every release. It must not allocate, lock what ordinary threads lock (but with a
// prt_mutex), print, or touch memory for the first time; no C++ exception and no longjmp may leave it. Of this library it may call what
// is marked real-time.
typedef int (*prt_body)(const struct prt_cycle *cycle, void *data);

// What a task asks for. Set it with prt_task_options_init(), then change what is to be different.
struct prt_task_options {
  // Its name, also that of its thread (the first 15 bytes of it). Copied.
  const char *name;
  // Its period, ns; 1 or more.
  uint64_t period_ns;
  // One of enum prt_policy. Its children get SCHED_OTHER always.
  int policy;
  // 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
  int priority;
  // The CPU it stays on; −1 for any. Not with PRT_POLICY_DEADLINE.
  int cpu;
  // One of enum prt_miss.
  int miss;
  // PRT_MISS_CATCH_UP: most releases owed at a time.
  uint64_t catch_up_at_most;
  // PRT_MISS_SAFE_STATE: what runs in place of the body; the same rules hold.
  prt_body safe_state;
  // What `safe_state` gets.
  void *safe_state_data;
  // PRT_POLICY_DEADLINE: CPU time a period, ns.
  uint64_t runtime_ns;
  // By when, from its release on, a body must have returned, ns; 0 for the period. With PRT_POLICY_DEADLINE the kernel's deadline too.
  uint64_t deadline_ns;
  // Releases lie at prt_epoch_ns() + offset + a multiple of the period, ns.
  uint64_t offset_ns;
  // Ends after so many releases have run or were given up; 0 for no end.
  uint64_t cycles;
  // Leaves execution times and deadline misses out: saves one reading of the clock a cycle.
  bool without_execution;
  // For later versions: 0.
  uint64_t reserved[4];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// An empty set. Never NULL. SIGURG gets an empty handler, which prt_alarms_stop() wakes with.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_alarms_free().
struct prt_alarms *prt_alarms_new(void);

// Frees the set. NULL is nothing.
//
// Errors: PRT_STATUS_BUSY where it runs: it is not freed then.
int prt_alarms_free(struct prt_alarms *alarms);

// Adds an alarm `after_ns` after the epoch; those of the same time are carried out in the order they were added.
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_FULL; PRT_STATUS_BUSY while it runs; PRT_STATUS_INVALID beyond 31 years; PRT_STATUS_NULL.
int prt_alarms_add(struct prt_alarms *alarms,
                   uint64_t after_ns,
                   int64_t action);

// Removes all alarms, and what prt_alarms_stop() has said.
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_BUSY while it runs; PRT_STATUS_NULL.
int prt_alarms_clear(struct prt_alarms *alarms);

// Carries all alarms out in the calling thread, in the order of their times: sleeps until each is due, one system call an alarm; those
// that are due already come at once. Ends early where an action answers anything but PRT_NEXT_CONTINUE, or with prt_alarms_stop().
//
// Threads: one at a time, which should be real-time. Real-time; blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_BUSY, PRT_STATUS_INVALID for an epoch beyond 2^62 ns. `*done` gets how many were carried out;
// `done` may be NULL.
int prt_alarms_run(struct prt_alarms *alarms,
                   uint64_t epoch_ns,
                   prt_alarm_action action,
                   void *data,
                   size_t *done);

// Ends the run that is under way, and every later one until prt_alarms_clear(); waits until it has ended, unless the caller is the one
// that runs it. An action that runs is not interrupted.
//
// Threads: any ordinary one, or the one that runs the set. Blocks.
// Errors: PRT_STATUS_NULL.
int prt_alarms_stop(struct prt_alarms *alarms);

// Now, ns on CLOCK_MONOTONIC. A read of the vDSO.
//
// Threads: any. Real-time.
uint64_t prt_now_ns(void);

// Sleeps until `at_ns` on CLOCK_MONOTONIC; signals do not end it. clock_nanosleep(2), TIMER_ABSTIME.
//
// Threads: any. Real-time; blocks. A task whose body sleeps is stopped only when it has slept.
// Errors: PRT_STATUS_INVALID for a time beyond 2^63 ns.
int prt_sleep_until(uint64_t at_ns);

// One that nobody waits for. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_cond_free().
struct prt_cond *prt_cond_new(void);

// Frees the condition variable. NULL is nothing.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_BUSY where a thread waits for it, or has not yet returned from its wait: it is not freed then.
int prt_cond_free(struct prt_cond *cond);

// Lets go of the mutex, sleeps until notified (or for no reason), and takes the mutex again.
//
// Threads: the one that holds the mutex. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_REFUSED where the calling thread does not hold the mutex: it has not waited then. PRT_STATUS_OWNER_DIED as for
// prt_mutex_lock(). PRT_STATUS_NULL. In doubt prt_mutex_is_mine() tells whether the mutex is held.
int prt_cond_wait(const struct prt_cond *cond,
                  const struct prt_mutex *mutex);

// As prt_cond_wait(), until `until_ns` on CLOCK_MONOTONIC at the latest. The mutex is taken again in any case, and that may take longer.
//
// Threads: the one that holds the mutex. Real-time; blocks.
// Errors: as prt_cond_wait(); PRT_STATUS_TIMED_OUT, with the mutex held.
int prt_cond_wait_until(const struct prt_cond *cond,
                        const struct prt_mutex *mutex,
                        uint64_t until_ns);

// Wakes the waiter with the highest priority: it has the mutex once the caller lets go of it. Never blocks, no system call where nobody
// waits.
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: PRT_STATUS_REFUSED where the calling thread does not hold the mutex, or the waiters wait with another. PRT_STATUS_NULL.
int prt_cond_notify_one(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// Wakes all waiters, which have the mutex one after the other, by priority. Otherwise as prt_cond_notify_one().
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: as prt_cond_notify_one().
int prt_cond_notify_all(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// A group in which these are set. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_flags_free().
struct prt_flags *prt_flags_new(uint32_t set);

// Frees the group; nobody may wait for it. NULL is nothing.
//
// Threads: any ordinary one.
void prt_flags_free(struct prt_flags *flags);

// Sets these and wakes the sleepers. Never blocks, no system call where nobody sleeps.
//
// Threads: any. Real-time: futex(2).
// Errors: PRT_STATUS_NULL.
int prt_flags_set(const struct prt_flags *flags, uint32_t mask);

// Clears these; `*were`, which may be NULL, gets those of them that were set. Never blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_clear(const struct prt_flags *flags, uint32_t mask, uint32_t *were);

// Puts the flags at this moment into `*set`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_get(const struct prt_flags *flags, uint32_t *set);

// Puts those of `mask` that are set into `*set`, where that is enough; `how` is one of enum prt_match. Never blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY where it is not enough; PRT_STATUS_INVALID for a mask of 0 or another `how`; PRT_STATUS_NULL.
int prt_flags_try_wait(const struct prt_flags *flags,
                       uint32_t mask,
                       int how,
                       uint32_t *set);

// As prt_flags_try_wait(), and clears them in the same step: one event is taken by one thread.
//
// Threads: any. Real-time.
// Errors: as prt_flags_try_wait(): nothing is cleared then.
int prt_flags_try_take(const struct prt_flags *flags, uint32_t mask, int how, uint32_t *set);

// Sleeps until enough of `mask` are set and puts them into `*set`; `how` is one of enum prt_match. A signal does not end the wait.
//
// Threads: any. Real-time: futex(2) where it has to sleep; blocks.
// Errors: PRT_STATUS_INVALID for a mask of 0 or another `how`; PRT_STATUS_NULL.
int prt_flags_wait(const struct prt_flags *flags,
                   uint32_t mask,
                   int how,
                   uint32_t *set);

// As prt_flags_wait(), and clears them in the same step: one event is taken by one thread.
//
// Threads: any. Real-time: futex(2) where it has to sleep; blocks.
// Errors: as prt_flags_wait().
int prt_flags_take(const struct prt_flags *flags, uint32_t mask, int how, uint32_t *set);

// As prt_flags_wait(), until `until_ns` on CLOCK_MONOTONIC at the latest. Flags that are set are found also after that.
//
// Threads: any. Real-time; blocks.
// Errors: as prt_flags_wait(); PRT_STATUS_TIMED_OUT.
int prt_flags_wait_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// As prt_flags_take(), until `until_ns` on CLOCK_MONOTONIC at the latest. Flags that are set are taken also after that.
//
// Threads: any. Real-time; blocks.
// Errors: as prt_flags_take(); PRT_STATUS_TIMED_OUT: nothing is cleared.
int prt_flags_take_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// A free mutex. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_mutex_free().
struct prt_mutex *prt_mutex_new(void);

// Frees the mutex. NULL is nothing.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_BUSY or PRT_STATUS_DEADLOCK where another thread or this one holds it: it is not freed then. A mutex that is lost
// (its owner ended while nobody waited) is held for ever.
int prt_mutex_free(struct prt_mutex *mutex);

// Takes the mutex, and waits as long as that needs. A signal does not end the wait.
//
// Threads: any. Real-time: no system call where it is free, futex(2) where it is not; blocks.
// Errors: PRT_STATUS_DEADLOCK: the thread holds it already. PRT_STATUS_OWNER_DIED: its owner ended while it held it. If
// prt_mutex_is_mine() says so, the caller has it now: put right what it guards, then unlock as usual; otherwise the mutex is lost.
// PRT_STATUS_NULL, PRT_STATUS_REFUSED.
int prt_mutex_lock(const struct prt_mutex *mutex);

// As prt_mutex_lock(), until `until_ns` on CLOCK_MONOTONIC at the latest. A free mutex is taken also where that has passed.
//
// Threads: any. Real-time; blocks.
// Errors: as prt_mutex_lock(); PRT_STATUS_TIMED_OUT; PRT_STATUS_REFUSED before Linux 5.14.
int prt_mutex_lock_until(const struct prt_mutex *mutex,
                         uint64_t until_ns);

// Takes the mutex where it is free. Never blocks, no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_BUSY, PRT_STATUS_DEADLOCK, PRT_STATUS_NULL.
int prt_mutex_try_lock(const struct prt_mutex *mutex);

// Lets go of the mutex; the waiter with the highest priority gets it. No system call where nobody waits.
//
// Threads: the one that holds it. Real-time.
// Errors: PRT_STATUS_REFUSED where the calling thread does not hold it: nothing is changed then. PRT_STATUS_NULL.
int prt_mutex_unlock(const struct prt_mutex *mutex);

// Does the calling thread hold the mutex? Also false where `mutex` is NULL.
//
// Threads: any. Real-time.
bool prt_mutex_is_mine(const struct prt_mutex *mutex);

// Opens a pipe from the shell. `at` without a slash is a name under /run, with one a path. A FIFO is made where there is none and removed by
// prt_pipe_in_free(); one that is there is taken over and left; one that another running program has is refused. Room for `capacity`
// lines or a few more (16, 64, 256, 1024, 4096). `overflow` is one of enum prt_overflow: with PRT_OVERFLOW_REFUSE the FIFO's writers
// wait.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED; PRT_STATUS_INVALID for a capacity of 0 or beyond PRT_PIPE_MOST; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_pipe_in_free(). A thread under SCHED_OTHER carries the lines until then.
int prt_pipe_in_open(const char *at,
                     size_t capacity,
                     int overflow,
                     struct prt_pipe_in **out);

// Opens a pipe to the shell; otherwise as prt_pipe_in_open(). What nobody reads stays in the FIFO (64 KiB), then in the ring, and then
// `overflow` decides.
int prt_pipe_out_open(const char *at,
                      size_t capacity,
                      int overflow,
                      struct prt_pipe_out **out);

// Takes the oldest line, without its newline and with a NUL byte at its end. `size` is the room at `line`, PRT_LINE_LONGEST + 1 or more.
//
// Threads: one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for less room; PRT_STATUS_NULL. `*length` gets the line's bytes, among which NUL may be;
// `length` may be NULL.
int prt_pipe_in_receive(const struct prt_pipe_in *pipe,
                        char *line,
                        size_t size,
                        size_t *length);

// As prt_pipe_in_receive(), but sleeps until there is a line, or until `until_ns` on CLOCK_MONOTONIC.
//
// Threads: one, the receiver. Real-time: poll(2) and read(2) on an eventfd; blocks.
// Errors: as prt_pipe_in_receive(), with PRT_STATUS_TIMED_OUT in place of PRT_STATUS_EMPTY.
int prt_pipe_in_receive_until(const struct prt_pipe_in *pipe,
                              uint64_t until_ns,
                              char *line,
                              size_t size,
                              size_t *length);

// The eventfd that is readable when lines have come, for poll(2) together with others; −1 where `pipe` is NULL. Call
// prt_pipe_in_clear(), then prt_pipe_in_receive() until it is empty, then poll.
//
// Threads: any.
// Ownership: the pipe's; do not close it.
int prt_pipe_in_fd(const struct prt_pipe_in *pipe);

// Makes the eventfd not readable until the next line.
//
// Threads: the receiver. Real-time: read(2).
// Errors: PRT_STATUS_NULL.
int prt_pipe_in_clear(const struct prt_pipe_in *pipe);

// Leaves the `length` bytes at `line`, without a newline, for the bridge.
//
// Threads: one, the sender. Real-time: wait-free; a write(2) to an eventfd where the bridge sleeps.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for more than PRT_LINE_LONGEST bytes, or a newline among them;
// PRT_STATUS_NULL.
int prt_pipe_out_send(const struct prt_pipe_out *pipe,
                      const char *line,
                      size_t length);

// What the pipe has seen.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_pipe_in_counts(const struct prt_pipe_in *pipe, struct prt_pipe_counts *out);

// What the pipe has seen.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_pipe_out_counts(const struct prt_pipe_out *pipe, struct prt_pipe_counts *out);

// Closes the pipe, and removes its FIFO where it was made. NULL is nothing.
//
// Threads: any ordinary one, when the receiver has ended. Waits for the bridge.
void prt_pipe_in_free(struct prt_pipe_in *pipe);

// Closes the pipe: writes what is left where there is room, and removes its FIFO where it was made. NULL is nothing.
//
// Threads: any ordinary one, when the sender has ended. Waits for the bridge.
void prt_pipe_out_free(struct prt_pipe_out *pipe);

// Makes a queue for `capacity` values of `size` bytes, in order, from one thread to one other. `overflow` is one of enum prt_overflow.
// Nobody is woken: look in every cycle.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size beyond PRT_QUEUE_LARGEST, more than 1 GiB, or an
// unknown policy.
// Ownership: the ends are the caller's, each until its own …_free(); either may go first.
int prt_queue_new(size_t size,
                  size_t capacity,
                  int overflow,
                  struct prt_sender **sender,
                  struct prt_receiver **receiver);

// Makes the queue's memory resident and keeps it so: mlock(2). Before the first value is sent, and before the real-time part.
//
// Threads: an ordinary one, before the sender's.
// Errors: PRT_STATUS_REFUSED: RLIMIT_MEMLOCK. PRT_STATUS_NULL.
int prt_sender_lock_memory(struct prt_sender *sender);

// Puts a copy of the `size` bytes at `value` in; the size is the queue's.
//
// Threads: one, the sender. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for another size than the queue's; PRT_STATUS_NULL.
int prt_send(struct prt_sender *sender,
             const void *value,
             size_t size);

// Takes the oldest value out and copies its `size` bytes to `value`; the size is the queue's.
//
// Threads: one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for another size than the queue's; PRT_STATUS_NULL. Nothing is taken then.
int prt_receive(struct prt_receiver *receiver,
                void *value,
                size_t size);

// How many values wait; 0 where `receiver` is NULL.
//
// Threads: the receiver. Real-time.
size_t prt_waiting(const struct prt_receiver *receiver);

// What the queue has seen, asked at its writing end.
//
// Threads: the sender. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_sender_counts(const struct prt_sender *sender, struct prt_queue_counts *out);

// What the queue has seen, asked at its reading end.
//
// Threads: the receiver. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_receiver_counts(const struct prt_receiver *receiver, struct prt_queue_counts *out);

// Frees the writing end; what waits can still be taken out. NULL is nothing.
//
// Threads: any ordinary one, when the sender has ended.
void prt_sender_free(struct prt_sender *sender);

// Frees the reading end; what is sent from then on is never taken out. NULL is nothing.
//
// Threads: any ordinary one, when the receiver has ended.
void prt_receiver_free(struct prt_receiver *receiver);

// Would this policy be granted to the calling thread? It is set and put back at once: for a program that can also run in the
// ordinary class, and says so.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED with what to do; PRT_STATUS_INVALID for a policy or priority that does not exist, and for
// PRT_POLICY_DEADLINE (ask prt_builder_check_deadline()).
int prt_try_scheduling(int policy,
                       int priority);

// A semaphore with this count. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_semaphore_free().
struct prt_semaphore *prt_semaphore_new(uint32_t count);

// Frees the semaphore; nobody may wait for it. NULL is nothing.
//
// Threads: any ordinary one.
void prt_semaphore_free(struct prt_semaphore *semaphore);

// Raises the count by one and wakes one sleeper. Never blocks, no system call where nobody sleeps.
//
// Threads: any. Real-time: futex(2).
// Errors: PRT_STATUS_FULL at a count of 2^32 - 1, which stays; PRT_STATUS_NULL.
int prt_semaphore_post(const struct prt_semaphore *semaphore);

// Lowers the count, and sleeps until it can. A signal does not end the wait.
//
// Threads: any. Real-time: no system call where the count is not 0, futex(2) where it is; blocks.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_wait(const struct prt_semaphore *semaphore);

// As prt_semaphore_wait(), until `until_ns` on CLOCK_MONOTONIC at the latest. A count that is there is taken also after that.
//
// Threads: any. Real-time; blocks.
// Errors: PRT_STATUS_TIMED_OUT: the count is not lowered. PRT_STATUS_NULL.
int prt_semaphore_wait_until(const struct prt_semaphore *semaphore,
                             uint64_t until_ns);

// Lowers the count where it is not 0. Never blocks, no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY where it is 0; PRT_STATUS_NULL.
int prt_semaphore_try_wait(const struct prt_semaphore *semaphore);

// Puts the count at this moment into `*count`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_count(const struct prt_semaphore *semaphore, uint32_t *count);

// Nothing locked, nothing checked yet. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's, until prt_start() or prt_builder_free().
struct prt_builder *prt_builder_new(void);

// For a program that does not start after all. NULL is nothing.
void prt_builder_free(struct prt_builder *builder);

// Locks all memory of the program at its start, present and future: mlockall(2), mallopt(3).
//
// Errors: PRT_STATUS_NULL.
int prt_builder_lock_memory(struct prt_builder *builder);

// So many bytes of each task's stack are written before its first release; 256 KiB where nothing is said.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID above 1 GiB.
int prt_builder_prefault_stack(struct prt_builder *builder,
                               size_t bytes);

// Asks for a check: `kind` is one of enum prt_check, `argument` what it needs or 0, `severity` one of enum prt_severity.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for what does not exist.
int prt_builder_check(struct prt_builder *builder,
                      int kind,
                      uint64_t argument,
                      int severity);

// Asks whether this reservation of SCHED_DEADLINE is granted: it is tried and put back.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a severity that does not exist.
int prt_builder_check_deadline(struct prt_builder *builder,
                               uint64_t runtime_ns,
                               uint64_t deadline_ns,
                               uint64_t period_ns,
                               int severity);

// Checks, locks memory, and sets the epoch of all tasks to now. SIGURG gets an empty handler: it wakes sleeping tasks.
//
// Threads: any ordinary one, once a program.
// Errors: PRT_STATUS_NOT_READY with the whole report, where a required check failed; PRT_STATUS_REFUSED, where memory cannot be
// locked; PRT_STATUS_NULL.
// Ownership: `builder` is freed in any case; `*out` is the caller's until prt_free().
int prt_start(struct prt_builder *builder,
              struct prt **out);

// What the checks found, a line each: "ok", "FAILED" or "unknown", what was found, and what to do. NULL where `rt` is.
//
// Threads: any.
// Ownership: `rt`'s; valid until prt_free().
const char *prt_report(const struct prt *rt);

// Did all checks pass? Also false where `rt` is NULL.
//
// Threads: any.
bool prt_passed(const struct prt *rt);

// The instant on CLOCK_MONOTONIC that the grids of all tasks begin at, ns; 0 where `rt` is NULL.
//
// Threads: any. Real-time.
uint64_t prt_epoch_ns(const struct prt *rt);

// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and those it starts, so that prt_until_signal() gets them. For the beginning
// of main().
//
// Errors: none that Linux gives.
int prt_block_signals(void);

// Sleeps until SIGINT, SIGTERM or SIGHUP, then prt_stop().
//
// Threads: an ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_until_signal(const struct prt *rt);

// Stops every task and waits until each body has returned. Their handles still have their statistics.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_stop(const struct prt *rt);

// Stops every task, as prt_stop() does, and frees `rt`. The tasks' handles stay the caller's. NULL is nothing.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body: nothing is freed then.
int prt_free(struct prt *rt);

// Reads a task's statistics, without stopping or slowing it: its counters and a few files of proc(5). Also after its end.
//
// Threads: any ordinary one; not real-time. Waits while another thread stops this task.
// Errors: PRT_STATUS_NULL.
int prt_task_stats(const struct prt_task *task,
                   struct prt_stats *out);

// The quantile `q` (0 to 1) of one of enum prt_measure, ns, by the nearest rank; exact to 1 %, the extremes exact.
//
// Threads: as prt_task_stats().
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a measure or `q` out of range; PRT_STATUS_EMPTY where there is no sample yet.
int prt_task_quantile(const struct prt_task *task,
                      int measure,
                      double q,
                      uint64_t *out);

// What the calling thread's last call that failed has to say: what failed, on what, why, and what to do. Empty, and never NULL, where
// none has failed.
//
// Threads: any; each has its own. Real-time.
// Ownership: the library's; valid until the calling thread's next call that fails, or its end.
const char *prt_last_error(void);

// The name of a status, such as "timed out"; "unknown status" for any other number.
//
// Threads: any. Real-time.
// Ownership: the library's; valid for ever.
const char *prt_status_name(int32_t status);

// The library's version, such as "0.1.0".
//
// Threads: any. Real-time.
// Ownership: the library's; valid for ever.
const char *prt_version(void);

// Sets `*options` to a task `name` of `policy` and `priority` every `period_ns`, with PRT_MISS_SKIP, on any CPU, without end.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL. What is out of range is found by prt_task_start().
// Ownership: `name` is only pointed to, until prt_task_start() copies it.
int prt_task_options_init(struct prt_task_options *options,
                          const char *name,
                          int policy,
                          int priority,
                          uint64_t period_ns);

// Starts a task: its thread takes memory, CPU and policy first, and the first release is a millisecond or more after that.
//
// Threads: any ordinary one. `body` runs in a thread of its own, and may be called with `data` there until the task has ended.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED where the system refuses policy, CPU or
// thread: nothing is started then.
// Ownership: `*out` is the caller's until prt_task_free(); `data` and what `options` points to stay the caller's, and `data` is used
// until the task has ended.
int prt_task_start(const struct prt *rt,
                   const struct prt_task_options *options,
                   prt_body body,
                   void *data,
                   struct prt_task **out);

// Why the task's memory is not locked; empty where it is; NULL where `task` is.
//
// Threads: any.
// Ownership: the task's; valid until prt_task_free().
const char *prt_task_not_resident(const struct prt_task *task);

// Asks the task to end and waits until it has: a body that runs is not interrupted, a sleeping task is woken. Once it has ended this
// says again how.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL; PRT_STATUS_DEADLOCK from a task's body. `*end` gets one of enum prt_end; `end` may be NULL.
int prt_task_stop(const struct prt_task *task,
                  int *end);

// Waits until the task ends by itself. Others may read its statistics meanwhile.
//
// Threads: any ordinary one, not a task's. Blocks; looks every 10 ms at most.
// Errors: as prt_task_stop().
int prt_task_join(const struct prt_task *task, int *end);

// Stops the task where it still runs, as prt_task_stop() does, and frees its handle. NULL is nothing.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body: nothing is freed then.
int prt_task_free(struct prt_task *task);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PUNCTUAL_RT_H */
