/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C and C++: real-time tasks on Linux that account for every release and event, alarms, locks with priority
 * inheritance, queues, pipes to the shell, a log, marks in the kernel's trace, statistics. Guide: docs/c-interface.md.
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

// Maximum number of alarms in a set.
#define PRT_ALARMS_MOST 64

// Maximum number of numbers in a record.
#define PRT_ARGS_MOST 4

// Maximum length of a line in a pipe, in bytes without its newline.
#define PRT_LINE_LONGEST 62

// Maximum number of lines waiting in a pipe.
#define PRT_PIPE_MOST 4096

// Maximum size of a value, bytes; pass a pointer or an index for larger ones.
#define PRT_QUEUE_LARGEST 4096

// Return value of the library's functions.
enum prt_status {
  // Success.
  PRT_STATUS_OK = 0,
  // A pointer is NULL where it must not be.
  PRT_STATUS_NULL = 1,
  // An argument is out of range.
  PRT_STATUS_INVALID = 2,
  // A check that the program requires failed, or could not be made. The text is the report.
  PRT_STATUS_NOT_READY = 3,
  // The system refused: privilege, limits, files. The text states what was refused and what to do.
  PRT_STATUS_REFUSED = 4,
  // Nothing is available: an empty queue or pipe.
  PRT_STATUS_EMPTY = 5,
  // No room: a full queue, pipe or set. The value to be sent remains the caller's.
  PRT_STATUS_FULL = 6,
  // The time limit passed.
  PRT_STATUS_TIMED_OUT = 7,
  // The object is in use by another thread, for example a mutex that is held.
  PRT_STATUS_BUSY = 8,
  // Waiting would never end: the thread already holds the mutex, or a task waits for its own end.
  PRT_STATUS_DEADLOCK = 9,
  // The mutex's owner ended while holding it: see prt_mutex_lock().
  PRT_STATUS_OWNER_DIED = 10,
  // A panic inside the library, which is a bug in it. The object of the call is in an unknown state.
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
  // SCHED_DEADLINE; `runtime_ns` of CPU time in each period, before `deadline_ns` has passed.
  PRT_POLICY_DEADLINE = 3,
};

// Properties that a real-time program may require of the machine. `punctual audit` checks far more, once per machine.
enum prt_check {
  // The kernel is PREEMPT_RT: CONFIG_PREEMPT_RT. No argument.
  PRT_CHECK_PREEMPT_RT = 0,
  // This SCHED_FIFO priority is granted; it is set for the check, and the previous scheduling is restored.
  PRT_CHECK_PRIORITY = 1,
  // This many bytes may be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
  PRT_CHECK_LOCKED_MEMORY = 2,
  // Timers have nanosecond resolution. No argument.
  PRT_CHECK_HIGH_RESOLUTION_TIMERS = 3,
  // The clock is read without a system call. No argument.
  PRT_CHECK_FAST_CLOCK = 4,
  // Nothing takes a CPU from a real-time task that does not sleep: neither RT throttling nor the fair server, whose
  // settings only root can read. With the kernel's defaults it fails; a program that leaves 5 % of each CPU unused
  // does not need it. No argument.
  PRT_CHECK_NO_THROTTLING = 5,
  // No thread of another program has this priority or a higher one, or is SCHED_DEADLINE; kernel threads count, except
  // the stoppers (migration/N).
  PRT_CHECK_FOREIGN_RT_ABOVE = 6,
  // The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME. No argument.
  PRT_CHECK_NO_RT_TIME_LIMIT = 7,
  // This CPU is isolated from other tasks: isolcpus=, or an isolated cpuset partition.
  PRT_CHECK_ISOLATED = 8,
  // This CPU's frequency is not scaled down.
  PRT_CHECK_FIXED_FREQUENCY = 9,
};

// Whether the program starts if a check fails.
enum prt_severity {
  // The program starts even if the check fails; prt_start() prints a warning on standard error, and the report
  // contains the failure.
  PRT_SEVERITY_WANTED = 0,
  // The program does not start if the check fails.
  PRT_SEVERITY_REQUIRED = 1,
};

// Return value of a body; any other number counts as PRT_NEXT_STOP.
enum prt_next {
  // Wait for the next release.
  PRT_NEXT_CONTINUE = 0,
  // End the task.
  PRT_NEXT_STOP = 1,
};

// What happens to releases that pass before the task wakes. Always released == ran + skipped + pending.
enum prt_miss {
  // Missed releases are counted but not run; the next release is the first in the future, on the same grid.
  PRT_MISS_SKIP = 0,
  // Missed releases run at once, one after the other; at most `catch_up_at_most` are pending, older ones are counted
  // but not run.
  PRT_MISS_CATCH_UP = 1,
  // The task ends without running the late release.
  PRT_MISS_STOP = 2,
  // `safe_state` runs in place of the body for the late release; all missed releases, including the late one, count
  // as skipped.
  PRT_MISS_SAFE_STATE = 3,
};

// Outcome of a task.
enum prt_end {
  // Its body, or its safe state, returned PRT_NEXT_STOP.
  PRT_END_RETURNED = 0,
  // It was stopped.
  PRT_END_STOPPED = 1,
  // It has completed its number of cycles.
  PRT_END_CYCLES = 2,
  // It was a period late, and its policy is PRT_MISS_STOP.
  PRT_END_MISSED = 3,
  // It failed inside the library, which is a bug in it.
  PRT_END_FAILED = 4,
  // Its source of events failed: prt_interrupt_get_counts() has the error.
  PRT_END_SOURCE_FAILED = 5,
};

// Times that are measured for a task.
enum prt_measure {
  // Lateness of the task's wakeup.
  PRT_MEASURE_LATENESS = 0,
  // Time from the task's wakeup to the body's return.
  PRT_MEASURE_EXECUTION = 1,
};

// What happens to a value for which there is no room. Each such value is counted.
enum prt_overflow {
  // Returns PRT_STATUS_FULL to the sender.
  PRT_OVERFLOW_REFUSE = 0,
  // The value is dropped, and the sender is not notified.
  PRT_OVERFLOW_DROP_NEWEST = 1,
  // The oldest waiting value is dropped to make room: mailboxes only.
  PRT_OVERFLOW_DROP_OLDEST = 2,
};

// Number of requested flags that must be set.
enum prt_match {
  // At least one of the requested flags.
  PRT_MATCH_ANY = 0,
  // All of the requested flags.
  PRT_MATCH_ALL = 1,
};

// Severity of a record.
enum prt_level {
  // Something failed.
  PRT_LEVEL_ERROR = 0,
  // Something is not as it should be.
  PRT_LEVEL_WARNING = 1,
  // Normal operation.
  PRT_LEVEL_INFO = 2,
  // Details for troubleshooting.
  PRT_LEVEL_DEBUG = 3,
};

// Edges of a GPIO line.
enum prt_edges {
  // From inactive to active.
  PRT_EDGES_RISING = 0,
  // From active to inactive.
  PRT_EDGES_FALLING = 1,
  // Both.
  PRT_EDGES_BOTH = 2,
};

// A started real-time program: creates tasks, and stops them together.
struct prt;

// Up to PRT_ALARMS_MOST alarms, each with a time after a common epoch and a number that identifies the action. Each
// alarm is absolute: if one is late, the next still runs on time.
struct prt_alarms;

// Requirements of a program before it starts. Use it from one thread.
struct prt_builder;

// A condition that threads wait for while another changes what a prt_mutex protects. The kernel moves a notified
// thread to the mutex's queue; it wakes only once, as the owner, and lends its priority meanwhile:
// FUTEX_WAIT_REQUEUE_PI, futex(2). All waiters of one condition variable must use the same mutex. A wait can end
// spuriously: wait in a loop. For threads of one process.
struct prt_cond;

// A counter that other threads and processes increment: eventfd(2).
struct prt_eventfd;

// A group of 32 event flags. Threads set and clear them; others wait until some or all flags of a mask are set. Flags
// are states, not counts: a flag set twice before it is cleared was set once. They have no owner, so there is no
// priority inheritance. For threads of one process.
struct prt_flags;

// Interrupt threads with changed priority. Their old priorities are restored when it is freed.
struct prt_irq_threads;

// A log with a prt_recorder for each real-time thread. An ordinary thread polls every 20 ms, sorts by time, formats and
// writes, and reports how many records were dropped.
struct prt_log;

// A bounded mailbox in order of arrival, from any threads to one that sleeps. Writers enter through a mutex with
// priority inheritance, which they hold while they copy one value. For threads of one process.
struct prt_mailbox;

// Marks of a program in the kernel's trace, beside its scheduler events: lines `punctual: NAME` or `punctual: NAME
// VALUE` in trace_marker (Documentation/trace/ftrace.rst). Where they cannot be written they are only counted.
struct prt_marks;

// A mutex with priority inheritance. While a thread waits, the owner runs at least at that thread's priority, so
// threads of intermediate priority do not delay the waiter: FUTEX_LOCK_PI2, futex(2). Waiters are served by priority.
// For threads of one process; not for signal handlers, nor the child of fork(2).
struct prt_mutex;

// Lines from the shell to a real-time thread: `echo d21 > /run/NAME`.
struct prt_pipe_in;

// Lines from a real-time thread to the shell: `cat /run/NAME`.
struct prt_pipe_out;

// The reading end of a queue.
struct prt_receiver;

// A real-time thread's end of a log.
struct prt_recorder;

// A counting semaphore: prt_semaphore_post() raises the count, prt_semaphore_wait() lowers it, sleeping while it is 0.
// Waiters wake by real-time priority; a thread that arrives meanwhile may take the count first. It has no owner, so
// there is no priority inheritance: protect data with a prt_mutex. For threads of one process.
struct prt_semaphore;

// The writing end of a queue.
struct prt_sender;

// A source of events. prt_interrupt_start() takes it.
struct prt_source;

// A started task: prt_task_start(), prt_interrupt_start().
struct prt_task;

// A timer on CLOCK_MONOTONIC that other threads set. It expires in hard interrupt context if its task is real-time;
// a timerfd does not on PREEMPT_RT.
struct prt_timer;

// An alarm that is due. Times are on CLOCK_MONOTONIC.
struct prt_rung {
  // The number with which the alarm was added.
  int64_t action;
  // Time at which the alarm was due, ns.
  uint64_t due_ns;
  // Time at which the thread woke for the alarm, ns.
  uint64_t woke_ns;
};

// Action of an alarm, called in the thread that called prt_alarms_run(). The rules of a prt_body apply, also to the
// return value.
typedef int (*prt_alarm_action)(const struct prt_rung *rung, void *data);

// Options of an interrupt task. Initialise them with prt_interrupt_options_init(), then change what should differ.
struct prt_interrupt_options {
  // Name of the task and (the first 15 bytes) of its thread. Copied.
  const char *name;
  // One of enum prt_policy, but not PRT_POLICY_DEADLINE.
  int policy;
  // 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
  int priority;
  // CPU to pin the task to; −1 for any.
  int cpu;
  // For later versions; must be 0.
  uint64_t reserved[4];
};

// An event as passed to the body of an interrupt task. Times are on CLOCK_MONOTONIC.
struct prt_interrupt {
  // Number of the event, from 0, including those coalesced or lost before it.
  uint64_t sequence;
  // When the kernel saw it; 0 if its source has no time stamps.
  uint64_t at_ns;
  // When the thread woke for it.
  uint64_t woke_ns;
  // Further events that this wakeup stands for, because they arrived before it was received.
  uint64_t coalesced;
  // Events before it that the source lost.
  uint64_t lost;
  // Value of the event: the edge of a GPIO line (1 rising, 0 falling), what a source of one's own says, otherwise 0.
  uint64_t value;
};

// The body of an interrupt task. The rules of a prt_body apply, also to the return value.
typedef int (*prt_interrupt_body)(const struct prt_interrupt *interrupt, void *data);

// Counters of an interrupt task: events == handled + coalesced + lost.
struct prt_interrupt_counts {
  // Total number of events.
  uint64_t events;
  // Wakeups for which the body ran.
  uint64_t handled;
  // Events that arrived together with a handled one.
  uint64_t coalesced;
  // Events that the source lost.
  uint64_t lost;
  // The errno of its source, if that ended the task; otherwise 0.
  int source_error;
};

// A number in a record: made by prt_arg_unsigned(), prt_arg_signed(), prt_arg_double() or prt_arg_time().
struct prt_arg {
  // Its bits.
  uint64_t bits;
  // Its type: 0 unsigned, 1 signed, 2 double, 3 time.
  uint64_t kind;
};

// Counters of a log.
struct prt_log_counts {
  // Records written.
  uint64_t written;
  // Records dropped because a recorder was full.
  uint64_t dropped;
  // Records that the output refused.
  uint64_t failed;
};

// Counters of a mailbox: sent == received + dropped_oldest + waiting values.
struct prt_mailbox_counts {
  // Values put into the mailbox.
  uint64_t sent;
  // Values taken out by a reader.
  uint64_t received;
  // Values dropped because the mailbox was full (PRT_OVERFLOW_DROP_NEWEST).
  uint64_t dropped_newest;
  // Waiting values dropped to make room (PRT_OVERFLOW_DROP_OLDEST).
  uint64_t dropped_oldest;
  // Values returned to the sender because the mailbox was full (PRT_OVERFLOW_REFUSE).
  uint64_t refused;
};

// Counters of marks.
struct prt_mark_counts {
  // Marks in the trace.
  uint64_t written;
  // Marks that could not be written.
  uint64_t failed;
};

// Counters of a pipe.
struct prt_pipe_counts {
  // Lines read from the FIFO and passed to the real-time side.
  uint64_t received;
  // Lines from the real-time side written to the FIFO.
  uint64_t sent;
  // Lines dropped because the ring was full.
  uint64_t dropped;
  // Lines returned to the real-time sender because the ring was full.
  uint64_t refused;
  // Lines longer than PRT_LINE_LONGEST.
  uint64_t malformed;
};

// Counters of a queue: sent == received + waiting + values never received.
struct prt_queue_counts {
  // Values put into the queue.
  uint64_t sent;
  // Values taken out of the queue.
  uint64_t received;
  // Values dropped because the queue was full.
  uint64_t dropped;
  // Values returned to the sender because the queue was full.
  uint64_t refused;
};

// An event, as reported by a source of one's own.
struct prt_arrival {
  // When it happened, ns on CLOCK_MONOTONIC; 0 if that is not known.
  uint64_t at_ns;
  // Number of events that this wakeup stands for, more than one if several arrived before it; 0 to be called again.
  uint64_t events;
  // Events before this one that were lost.
  uint64_t lost;
  // Passed to the body.
  uint64_t value;
};

// Waits for the next event and describes it in `*arrival`, which is {0, 1, 0, 0} before. Returns 0, or an errno: EINTR
// if a signal ended the wait (prt_task_stop() sends SIGURG), so that it is called again unless the task was stopped;
// any other ends the task with PRT_END_SOURCE_FAILED. The rules of a prt_body apply, but it blocks.
typedef int (*prt_wait)(struct prt_arrival *arrival, void *data);

// Summary of a distribution of times, exact. For quantiles see prt_task_quantile().
struct prt_distribution {
  // Number of samples; if it is 0, the other fields are 0 and meaningless.
  uint64_t count;
  // Minimum, ns.
  uint64_t min_ns;
  // Maximum, ns.
  uint64_t max_ns;
  // Mean, ns.
  double mean_ns;
};

// Statistics of a task at some time. For an interrupt task a release is an event: released == all events, ran == those
// its body ran for, skipped == coalesced and lost ones, which prt_interrupt_get_counts() tells apart.
struct prt_stats {
  // When the statistics were read, ns on CLOCK_MONOTONIC.
  uint64_t at_ns;
  // Number of releases so far: ran + skipped + pending.
  uint64_t released;
  // Releases for which the body ran, including at most one that is still running.
  uint64_t ran;
  // Number of skipped releases.
  uint64_t skipped;
  // Releases that are due and will still run.
  uint64_t pending;
  // Number of times the body returned after the deadline of its release.
  uint64_t deadline_misses;
  // Number of times the kernel throttled the task because its runtime was used up: PRT_POLICY_DEADLINE only.
  uint64_t overruns;
  // Lateness of the task's wakeup, one sample per release that ran. Of an interrupt task: from the time stamp of the
  // event; empty if its source has none.
  struct prt_distribution lateness;
  // Time from the task's wakeup to the body's return, including preemption; empty if `without_execution` is set.
  struct prt_distribution execution;
  // Release number of the worst wakeup; 0 if none was late.
  uint64_t worst_index;
  // When that release should have run, ns on CLOCK_MONOTONIC; 0 if none was late.
  uint64_t worst_scheduled_ns;
  // Minor and major page faults of the task's thread since the first release; −1 if the kernel does not report them.
  int64_t page_faults;
  // Voluntary context switches, about one per release; −1 if the kernel does not report them.
  int64_t voluntary_switches;
  // Involuntary context switches; −1 if the kernel does not report them.
  int64_t involuntary_switches;
  // Migrations to another CPU; −1 if the kernel does not report them.
  int64_t migrations;
};

// One release of a task, as passed to its body. Times are on CLOCK_MONOTONIC.
struct prt_cycle {
  // Number of the release, from 0, including skipped ones.
  uint64_t index;
  // When the release was due: first release + index × period, however late earlier cycles were.
  uint64_t scheduled_ns;
  // When the thread woke for this release.
  uint64_t woke_ns;
  // Missed releases, for which the body will not run, between this one and the next that will run.
  uint64_t skipped;
  // Releases that are due and will still run: PRT_MISS_CATCH_UP only.
  uint64_t pending;
  // Number of times the kernel throttled the task since its previous cycle because its runtime was used up:
  // PRT_POLICY_DEADLINE only.
  uint64_t overruns;
};

// The body of a task. It runs in the task's thread at every release. It must not allocate, lock what ordinary threads
// lock (except with a prt_mutex), print, or touch memory for the first time; no C++ exception and no longjmp may leave
// it. It may call the functions of this library that are marked real-time.
typedef int (*prt_body)(const struct prt_cycle *cycle, void *data);

// Options of a task. Initialise them with prt_task_options_init(), then change what should differ.
struct prt_task_options {
  // Name of the task and (the first 15 bytes) of its thread. Copied.
  const char *name;
  // Period, ns; 1 or more.
  uint64_t period_ns;
  // One of enum prt_policy. Threads and processes that the task creates always get SCHED_OTHER.
  int policy;
  // 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
  int priority;
  // CPU to pin the task to; −1 for any. With PRT_POLICY_DEADLINE it must be the only one of its root domain.
  int cpu;
  // One of enum prt_miss.
  int miss;
  // For PRT_MISS_CATCH_UP: maximum number of pending releases.
  uint64_t catch_up_at_most;
  // For PRT_MISS_SAFE_STATE: runs in place of the body; the same rules apply.
  prt_body safe_state;
  // Argument of `safe_state`.
  void *safe_state_data;
  // For PRT_POLICY_DEADLINE: CPU time per period, ns.
  uint64_t runtime_ns;
  // Deadline of a body relative to its release, ns; 0 for the period. With PRT_POLICY_DEADLINE also the kernel's
  // deadline.
  uint64_t deadline_ns;
  // Releases are at prt_epoch_ns() + offset + a multiple of the period, ns.
  uint64_t offset_ns;
  // The task ends after this many releases, whether its body ran for them or they were skipped; 0 for no end.
  uint64_t cycles;
  // For PRT_POLICY_DEADLINE with a deadline before the end of the period: an activation later than this, ns, skips
  // the next release; otherwise every later one would be equally late. 0 for an eighth of the time from the runtime
  // to the deadline.
  uint64_t late_activation_ns;
  // Disables execution times and deadline misses, which saves one clock read per cycle.
  bool without_execution;
  // For PRT_POLICY_DEADLINE: may also use the bandwidth that other deadline tasks leave unused.
  bool reclaim;
  // For PRT_POLICY_DEADLINE: ends each job by sched_yield(2). The grid of the releases then moves with late
  // activations.
  bool end_jobs_by_yield;
  // Reserved for later versions; must be 0.
  uint64_t reserved[4];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates an empty set. Never NULL. Installs an empty handler for SIGURG, with which prt_alarms_stop() wakes the
// thread that runs the set.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_alarms_free().
struct prt_alarms *prt_alarms_new(void);

// Frees the set. NULL is ignored.
//
// Errors: PRT_STATUS_BUSY while it runs; it is not freed then.
int prt_alarms_free(struct prt_alarms *alarms);

// Adds an alarm `after_ns` after the epoch; alarms with the same time run in the order they were added.
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_FULL; PRT_STATUS_BUSY while it runs; PRT_STATUS_INVALID beyond 31 years; PRT_STATUS_NULL.
int prt_alarms_add(struct prt_alarms *alarms,
                   uint64_t after_ns,
                   int64_t action);

// Removes all alarms, and resets prt_alarms_stop().
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_BUSY while it runs; PRT_STATUS_NULL.
int prt_alarms_clear(struct prt_alarms *alarms);

// Runs all alarms in the calling thread, ordered by time: sleeps until each is due, with one system call per alarm;
// those that are already due run at once. Ends early if an action returns anything but PRT_NEXT_CONTINUE, or by
// prt_alarms_stop().
//
// Threads: one at a time, which should be real-time. Real-time; blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_BUSY, PRT_STATUS_INVALID for an epoch beyond 2^62 ns. `*done` receives the
// number of alarms that ran; `done` may be NULL.
int prt_alarms_run(struct prt_alarms *alarms,
                   uint64_t epoch_ns,
                   prt_alarm_action action,
                   void *data,
                   size_t *done);

// Ends the current run, and every later one until prt_alarms_clear(). Waits until it has ended, unless called by the
// thread that runs it. A running action is not interrupted.
//
// Threads: any ordinary one, or the one that runs the set. Blocks.
// Errors: PRT_STATUS_NULL.
int prt_alarms_stop(struct prt_alarms *alarms);

// The current time, ns on CLOCK_MONOTONIC. A read of the vDSO.
//
// Threads: any. Real-time.
uint64_t prt_now_ns(void);

// Sleeps until `at_ns` on CLOCK_MONOTONIC; signals do not end it. clock_nanosleep(2), TIMER_ABSTIME.
//
// Threads: any. Real-time; blocks. A task whose body sleeps is stopped only after the sleep.
// Errors: PRT_STATUS_INVALID for a time beyond 2^63 ns.
int prt_sleep_until(uint64_t at_ns);

// Creates a condition variable. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_cond_free().
struct prt_cond *prt_cond_new(void);

// Frees the condition variable. NULL is ignored.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_BUSY if a thread waits for it, or has not yet returned from its wait; it is not freed then.
int prt_cond_free(struct prt_cond *cond);

// Releases the mutex, sleeps until notified (or a spurious wakeup), and takes the mutex again.
//
// Threads: the one that holds the mutex. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex; it has not waited then.
// PRT_STATUS_OWNER_DIED as for prt_mutex_lock(). PRT_STATUS_NULL. If in doubt, prt_mutex_is_mine() reports whether the
// mutex is held.
int prt_cond_wait(const struct prt_cond *cond,
                  const struct prt_mutex *mutex);

// Like prt_cond_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. The mutex is taken again in any case,
// which may take longer.
//
// Threads: the one that holds the mutex. Real-time; blocks.
// Errors: as for prt_cond_wait(); PRT_STATUS_TIMED_OUT, with the mutex held.
int prt_cond_wait_until(const struct prt_cond *cond,
                        const struct prt_mutex *mutex,
                        uint64_t until_ns);

// Wakes the waiter with the highest priority, which gets the mutex once the caller releases it. Never blocks; no
// system call without waiters.
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex, or the waiters use another one.
// PRT_STATUS_NULL.
int prt_cond_notify_one(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// Wakes all waiters, which get the mutex one after the other, by priority. Otherwise as prt_cond_notify_one().
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: as for prt_cond_notify_one().
int prt_cond_notify_all(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// Creates a group with these flags set. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_flags_free().
struct prt_flags *prt_flags_new(uint32_t set);

// Frees the group; no thread may be waiting for it, or in prt_flags_set(), which a thread that it wakes may outrun.
// NULL is ignored.
//
// Threads: any ordinary one.
void prt_flags_free(struct prt_flags *flags);

// Sets flags and wakes the sleepers. Never blocks; no system call without sleepers.
//
// Threads: any. Real-time: futex(2).
// Errors: PRT_STATUS_NULL.
int prt_flags_set(const struct prt_flags *flags, uint32_t mask);

// Clears flags; `*were`, which may be NULL, receives those of them that were set. Never blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_clear(const struct prt_flags *flags, uint32_t mask, uint32_t *were);

// Reads the current flags into `*set`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_get(const struct prt_flags *flags, uint32_t *set);

// Reads the flags of `mask` that are set into `*set`, if enough are; `how` is one of enum prt_match. Never blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY if not enough are set; PRT_STATUS_INVALID for a mask of 0 or another `how`;
// PRT_STATUS_NULL.
int prt_flags_try_wait(const struct prt_flags *flags,
                       uint32_t mask,
                       int how,
                       uint32_t *set);

// Like prt_flags_try_wait(), but also clears these flags in the same step, so that only one thread takes an event.
//
// Threads: any. Real-time.
// Errors: as for prt_flags_try_wait(); nothing is cleared then.
int prt_flags_try_take(const struct prt_flags *flags,
                       uint32_t mask,
                       int how,
                       uint32_t *set);

// Sleeps until enough flags of `mask` are set and reads those into `*set`; `how` is one of enum prt_match. Neither
// a signal nor prt_stop() ends the wait.
//
// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
// Errors: PRT_STATUS_INVALID for a mask of 0 or another `how`; PRT_STATUS_NULL.
int prt_flags_wait(const struct prt_flags *flags,
                   uint32_t mask,
                   int how,
                   uint32_t *set);

// Like prt_flags_wait(), but also clears these flags in the same step, so that only one thread takes an event.
//
// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
// Errors: as for prt_flags_wait().
int prt_flags_take(const struct prt_flags *flags,
                   uint32_t mask,
                   int how,
                   uint32_t *set);

// Like prt_flags_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. Flags that are already set are found
// even after that time.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_flags_wait(); PRT_STATUS_TIMED_OUT.
int prt_flags_wait_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// Like prt_flags_take(), but waits at most until `until_ns` on CLOCK_MONOTONIC. Flags that are already set are taken
// even after that time.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_flags_take(); PRT_STATUS_TIMED_OUT: nothing is cleared.
int prt_flags_take_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// Why the task's memory is not locked; empty if it is; NULL if `task` is NULL.
//
// Threads: any.
// Ownership: the task's; valid until prt_task_free().
const char *prt_task_not_resident(const struct prt_task *task);

// Asks the task to end and waits until it has: a running body is not interrupted, a sleeping task is woken. If it has
// already ended, returns the same end again.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL; PRT_STATUS_DEADLOCK from a task's body. `*end` receives one of enum prt_end; `end` may be
// NULL.
int prt_task_stop(const struct prt_task *task,
                  int *end);

// Waits until the task ends on its own. Other threads may read its statistics meanwhile.
//
// Threads: any ordinary one, not a task's. Blocks; polls at least every 10 ms.
// Errors: as for prt_task_stop().
int prt_task_join(const struct prt_task *task, int *end);

// Stops the task like prt_task_stop() if it still runs, and frees its handle. NULL is ignored.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body; nothing is freed then.
int prt_task_free(struct prt_task *task);

// Sets `*options` to a task `name` with `policy` and `priority` on any CPU.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL. Values out of range are detected by prt_interrupt_start().
// Ownership: `name` is only referenced, until prt_interrupt_start() copies it.
int prt_interrupt_options_init(struct prt_interrupt_options *options,
                               const char *name,
                               int policy,
                               int priority);

// Starts a task whose body runs at every event of `source`. prt_task_stats(), prt_task_stop(), prt_task_join() and
// prt_task_free() are for it, too.
//
// Threads: any ordinary one. `body` runs in its own thread, and may be called there with `data` until the task has
// ended.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses
// policy, CPU or thread. Nothing is started then.
// Ownership: `source` is freed in any case. `*out` is the caller's until prt_task_free(); `data` and what `options`
// points to remain the caller's, and `data` is used until the task has ended.
int prt_interrupt_start(const struct prt *rt,
                        const struct prt_interrupt_options *options,
                        struct prt_source *source,
                        prt_interrupt_body body,
                        void *data,
                        struct prt_task **out);

// Reads the counters of an interrupt task. Also works after its end.
//
// Threads: any ordinary one; not real-time. Waits while another thread stops this task.
// Errors: PRT_STATUS_INVALID for a periodic task; PRT_STATUS_NULL.
int prt_interrupt_get_counts(const struct prt_task *task, struct prt_interrupt_counts *out);

// Gives every thread of interrupt `irq` (irq/NN-name) this SCHED_FIFO priority: above the tasks that must not delay the
// interrupt, and not below those that wait for it. A killed program does not restore the priority.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_INVALID for a priority outside 1 to 99, or a negative interrupt; PRT_STATUS_REFUSED if the
// interrupt has no thread or the kernel refuses (CAP_SYS_NICE): nothing is changed then. PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_irq_threads_free().
int prt_irq_threads_set(int irq,
                        int priority,
                        struct prt_irq_threads **out);

// Restores the priorities. NULL is ignored.
//
// Threads: any ordinary one.
void prt_irq_threads_free(struct prt_irq_threads *threads);

// An unsigned number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_unsigned(uint64_t value);

// A signed number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_signed(int64_t value);

// A floating-point number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_double(double value);

// A duration for prt_record(), ns; written with its unit.
//
// Threads: any. Real-time.
struct prt_arg prt_arg_time(uint64_t ns);

// Starts a log that writes lines `SECONDS LEVEL NAME: TEXT` to the file descriptor `fd`, with the time of the record on
// CLOCK_MONOTONIC. The descriptor is duplicated.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_INVALID for a negative descriptor; PRT_STATUS_REFUSED if it is not open, or its thread cannot be
// started; PRT_STATUS_NULL.
// Ownership: `fd` remains the caller's; `*out` is the caller's until prt_log_free().
int prt_log_start(int fd,
                  struct prt_log **out);

// Creates a recorder with space for `capacity` records; `name` appears in its lines. Its memory is locked if
// RLIMIT_MEMLOCK or CAP_IPC_LOCK allow that.
//
// Threads: any ordinary one, before the real-time part.
// Errors: PRT_STATUS_INVALID for a capacity of 0 or of more than a million; PRT_STATUS_REFUSED: no memory;
// PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_recorder_free(), before or after the log is freed.
int prt_log_recorder(const struct prt_log *log,
                     const char *name,
                     size_t capacity,
                     struct prt_recorder **out);

// Records the time, `text`, and `count` numbers for the `{}` in it, in order. If there is no space, the record is
// dropped and counted. `level` is one of enum prt_level.
//
// Threads: one, the recorder's. Real-time: wait-free, one read of the clock, no system call.
// Errors: PRT_STATUS_INVALID for an unknown level or kind of a number, more than PRT_ARGS_MOST numbers, or a text that
// is not UTF-8; PRT_STATUS_NULL.
// Ownership: `text` is only referenced: it must not change until the log is freed, as a string literal; `args` are
// copied.
int prt_record(struct prt_recorder *recorder,
               int level,
               const char *text,
               const struct prt_arg *args,
               size_t count);

// Reads the counters of a log.
//
// Threads: any ordinary one: takes a lock that the writing thread holds while it formats.
// Errors: PRT_STATUS_NULL.
int prt_log_get_counts(const struct prt_log *log, struct prt_log_counts *out);

// Frees a recorder; its records are still written, and its memory is freed after that. NULL is ignored.
//
// Threads: any ordinary one, after the recorder's thread has ended.
void prt_recorder_free(struct prt_recorder *recorder);

// Writes the remaining records and ends the log. NULL is ignored. If the output accepts nothing for 2 s, because the
// reader of a pipe has stopped, the rest is lost.
//
// Threads: any ordinary one. Waits for the writing thread.
void prt_log_free(struct prt_log *log);

// Creates a mailbox for `capacity` values of `size` bytes. `overflow` is one of enum prt_overflow. Its memory is locked
// if RLIMIT_MEMLOCK or CAP_IPC_LOCK allow that.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size beyond PRT_QUEUE_LARGEST, more than
// 1 GiB, or an unknown policy; PRT_STATUS_REFUSED: no memory, or, where all memory is locked, RLIMIT_MEMLOCK.
// Ownership: `*out` is the caller's until prt_mailbox_free().
int prt_mailbox_new(size_t size,
                    size_t capacity,
                    int overflow,
                    struct prt_mailbox **out);

// Frees the mailbox and what waits in it; no thread may be using it. NULL is ignored.
//
// Threads: any ordinary one.
void prt_mailbox_free(struct prt_mailbox *mailbox);

// Sends a copy of the `size` bytes at `value`; the size must be the mailbox's.
//
// Threads: any. Real-time: waits at most for the copy of another value; futex(2) if a writer is inside or the reader
// sleeps.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID if the size is not the mailbox's;
// PRT_STATUS_OWNER_DIED if a thread ended inside; PRT_STATUS_NULL.
int prt_mailbox_send(const struct prt_mailbox *mailbox,
                     const void *value,
                     size_t size);

// Takes the oldest value, sleeping until there is one, and copies its `size` bytes to `value`; the size must be the
// mailbox's. Neither a signal nor prt_stop() ends the wait.
//
// Threads: any; with several readers each value goes to one. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_INVALID if the size is not the mailbox's; PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL. Nothing is taken
// then.
int prt_mailbox_receive(const struct prt_mailbox *mailbox,
                        void *value,
                        size_t size);

// Like prt_mailbox_receive(), but waits at most until `until_ns` on CLOCK_MONOTONIC.
//
// Threads: any. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_TIMED_OUT; those of prt_mailbox_receive(). Nothing is taken then.
int prt_mailbox_receive_until(const struct prt_mailbox *mailbox,
                              void *value,
                              size_t size,
                              uint64_t until_ns);

// Like prt_mailbox_receive(), but does not wait for a value.
//
// Threads: any. Real-time: waits at most for the copy of another value.
// Errors: PRT_STATUS_EMPTY; those of prt_mailbox_receive(). Nothing is taken then.
int prt_mailbox_try_receive(const struct prt_mailbox *mailbox, void *value, size_t size);

// Reads the counters.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL.
int prt_mailbox_get_counts(const struct prt_mailbox *mailbox, struct prt_mailbox_counts *out);

// Opens the kernel's trace_marker. Needs a mounted tracefs and permission to write it, which only root has by default.
//
// Threads: an ordinary one, before the real-time part.
// Errors: PRT_STATUS_REFUSED with the reason if it cannot be opened: `*out` is set all the same, and its marks are only
// counted. PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_marks_free().
int prt_marks_open(struct prt_marks **out);

// Writes `punctual: NAME` into the trace. Spaces and control characters in the name become `_`, and it is cut after 64
// bytes.
//
// Threads: any. Real-time: one write(2), none if trace_marker is not open.
// Errors: PRT_STATUS_REFUSED if it was not written, which is counted; PRT_STATUS_INVALID if the name is not UTF-8;
// PRT_STATUS_NULL.
int prt_mark(const struct prt_marks *marks,
             const char *name);

// Writes `punctual: NAME VALUE` into the trace; otherwise as prt_mark().
//
// Threads: any. Real-time: one write(2), none if trace_marker is not open.
// Errors: as for prt_mark().
int prt_mark_value(const struct prt_marks *marks, const char *name, uint64_t value);

// Answers PRT_STATUS_REFUSED, with the reason and what to do as the text, if a mark is not in the trace.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED, PRT_STATUS_NULL.
int prt_marks_check(const struct prt_marks *marks);

// Reads the counters.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_marks_counts(const struct prt_marks *marks, struct prt_mark_counts *out);

// Closes trace_marker. NULL is ignored.
//
// Threads: any ordinary one, after the last mark.
void prt_marks_free(struct prt_marks *marks);

// Creates a free mutex. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_mutex_free().
struct prt_mutex *prt_mutex_new(void);

// Frees the mutex. NULL is ignored.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_BUSY or PRT_STATUS_DEADLOCK if another thread or this one holds it; it is not freed then. A lost
// mutex (its owner ended without a waiter) counts as held forever.
int prt_mutex_free(struct prt_mutex *mutex);

// Locks the mutex, waiting as long as necessary. A signal does not end the wait.
//
// Threads: any. Real-time: no system call if it is free, otherwise futex(2); blocks.
// Errors: PRT_STATUS_DEADLOCK: the thread already holds it. PRT_STATUS_OWNER_DIED: its owner ended while holding it.
// If prt_mutex_is_mine() returns true, the caller has it now: repair the data it protects, then unlock as usual;
// otherwise the mutex is lost. PRT_STATUS_NULL, PRT_STATUS_REFUSED.
int prt_mutex_lock(const struct prt_mutex *mutex);

// Like prt_mutex_lock(), but waits at most until `until_ns` on CLOCK_MONOTONIC. A free mutex is locked even after that
// time.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_mutex_lock(); PRT_STATUS_TIMED_OUT; PRT_STATUS_REFUSED before Linux 5.14.
int prt_mutex_lock_until(const struct prt_mutex *mutex,
                         uint64_t until_ns);

// Locks the mutex if it is free. Never blocks, no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_BUSY, PRT_STATUS_DEADLOCK, PRT_STATUS_NULL.
int prt_mutex_try_lock(const struct prt_mutex *mutex);

// Unlocks the mutex; the waiter with the highest priority gets it. No system call without waiters.
//
// Threads: the one that holds it. Real-time.
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold it; nothing has changed then. PRT_STATUS_NULL.
int prt_mutex_unlock(const struct prt_mutex *mutex);

// Returns true if the calling thread holds the mutex; false if `mutex` is NULL.
//
// Threads: any. Real-time.
bool prt_mutex_is_mine(const struct prt_mutex *mutex);

// Opens a pipe from the shell. `at` without a slash is a name under /run, otherwise a path. If the FIFO does not
// exist, it is created, and removed by prt_pipe_in_free(); an existing one is taken over and left in place; one used
// by another running program is refused. Holds at least `capacity` lines (16, 64, 256, 1024 or 4096). `overflow` is
// one of enum prt_overflow: with PRT_OVERFLOW_REFUSE the FIFO's writers wait.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED; PRT_STATUS_INVALID for a capacity of 0 or beyond PRT_PIPE_MOST, an unknown policy, or
// PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_pipe_in_free(). Until then a thread under SCHED_OTHER transfers the
// lines.
int prt_pipe_in_open(const char *at,
                     size_t capacity,
                     int overflow,
                     struct prt_pipe_in **out);

// Opens a pipe to the shell; otherwise as prt_pipe_in_open(). Without a reader, lines stay in the FIFO (64 KiB), then
// in the ring; after that, `overflow` applies.
int prt_pipe_out_open(const char *at,
                      size_t capacity,
                      int overflow,
                      struct prt_pipe_out **out);

// Takes the oldest line, without its newline and terminated by a NUL byte. `size` is the size of the buffer `line`, at
// least PRT_LINE_LONGEST + 1.
//
// Threads: one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for a smaller buffer; PRT_STATUS_NULL. `*length` receives the length of
// the line, which may contain NUL bytes; `length` may be NULL.
int prt_pipe_in_receive(const struct prt_pipe_in *pipe,
                        char *line,
                        size_t size,
                        size_t *length);

// Like prt_pipe_in_receive(), but sleeps until there is a line, and at most until `until_ns` on CLOCK_MONOTONIC.
//
// Threads: one, the receiver. Real-time: poll(2) and read(2) on an eventfd; blocks.
// Errors: as for prt_pipe_in_receive(), with PRT_STATUS_TIMED_OUT instead of PRT_STATUS_EMPTY.
int prt_pipe_in_receive_until(const struct prt_pipe_in *pipe,
                              uint64_t until_ns,
                              char *line,
                              size_t size,
                              size_t *length);

// The eventfd that is readable when lines have arrived, for poll(2) together with others; −1 if `pipe` is NULL. Call
// prt_pipe_in_clear(), then prt_pipe_in_receive() until it is empty, then poll.
//
// Threads: any.
// Ownership: the pipe's; do not close it.
int prt_pipe_in_fd(const struct prt_pipe_in *pipe);

// Makes the eventfd unreadable until the next line.
//
// Threads: the receiver. Real-time: read(2).
// Errors: PRT_STATUS_NULL.
int prt_pipe_in_clear(const struct prt_pipe_in *pipe);

// Queues the `length` bytes at `line`, without a newline, for the bridge.
//
// Threads: one, the sender. Real-time: wait-free; a write(2) to an eventfd if the bridge sleeps.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for more than PRT_LINE_LONGEST bytes, or a
// newline among them; PRT_STATUS_NULL.
int prt_pipe_out_send(const struct prt_pipe_out *pipe,
                      const char *line,
                      size_t length);

// Reads the counters of the pipe.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_pipe_in_counts(const struct prt_pipe_in *pipe, struct prt_pipe_counts *out);

// Reads the counters of the pipe.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_pipe_out_counts(const struct prt_pipe_out *pipe, struct prt_pipe_counts *out);

// Closes the pipe, and removes its FIFO if that was created. NULL is ignored.
//
// Threads: any ordinary one, after the receiver has ended. Waits for the bridge.
void prt_pipe_in_free(struct prt_pipe_in *pipe);

// Closes the pipe: writes the remaining lines that fit, and removes its FIFO if that was created. NULL is ignored.
//
// Threads: any ordinary one, after the sender has ended. Waits for the bridge.
void prt_pipe_out_free(struct prt_pipe_out *pipe);

// Creates a queue for `capacity` values of `size` bytes, in order, from one thread to another. `overflow` is one of
// enum prt_overflow. The receiver is not woken: poll in every cycle.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size beyond PRT_QUEUE_LARGEST, more than
// 1 GiB, an unknown policy, or PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_REFUSED: no memory, or, where all memory is locked,
// RLIMIT_MEMLOCK.
// Ownership: the ends are the caller's, each until its own …_free(), in any order.
int prt_queue_new(size_t size,
                  size_t capacity,
                  int overflow,
                  struct prt_sender **sender,
                  struct prt_receiver **receiver);

// Makes the queue's memory resident and keeps it so: mlock(2). Call it before the first value is sent, and before the
// real-time part.
//
// Threads: an ordinary one, before the sender's.
// Errors: PRT_STATUS_REFUSED: RLIMIT_MEMLOCK. PRT_STATUS_NULL.
int prt_sender_lock_memory(struct prt_sender *sender);

// Sends a copy of the `size` bytes at `value`; the size must be the queue's.
//
// Threads: one, the sender. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID if the size is not the queue's;
// PRT_STATUS_NULL.
int prt_send(struct prt_sender *sender,
             const void *value,
             size_t size);

// Takes the oldest value and copies its `size` bytes to `value`; the size must be the queue's.
//
// Threads: one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID if the size is not the queue's; PRT_STATUS_NULL. Nothing is taken then.
int prt_receive(struct prt_receiver *receiver,
                void *value,
                size_t size);

// Number of waiting values; 0 if `receiver` is NULL.
//
// Threads: the receiver. Real-time.
size_t prt_waiting(const struct prt_receiver *receiver);

// Reads the counters of the queue at its writing end.
//
// Threads: the sender. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_sender_counts(const struct prt_sender *sender, struct prt_queue_counts *out);

// Reads the counters of the queue at its reading end.
//
// Threads: the receiver. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_receiver_counts(const struct prt_receiver *receiver, struct prt_queue_counts *out);

// Frees the writing end; waiting values can still be taken. NULL is ignored.
//
// Threads: any ordinary one, after the sender has ended.
void prt_sender_free(struct prt_sender *sender);

// Frees the reading end; values sent from then on are never received. NULL is ignored.
//
// Threads: any ordinary one, after the receiver has ended.
void prt_receiver_free(struct prt_receiver *receiver);

// Checks whether this policy is granted to the calling thread. It is set and restored at once. For programs that can
// also run without it.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED with what to do; PRT_STATUS_INVALID for a policy or priority that does not exist, and for
// PRT_POLICY_DEADLINE (use prt_builder_check_deadline()).
int prt_try_scheduling(int policy,
                       int priority);

// Creates a semaphore with this count. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_semaphore_free().
struct prt_semaphore *prt_semaphore_new(uint32_t count);

// Frees the semaphore; no thread may be waiting for it, or in prt_semaphore_post(), which the thread that it wakes may
// outrun. NULL is ignored.
//
// Threads: any ordinary one.
void prt_semaphore_free(struct prt_semaphore *semaphore);

// Raises the count by one and wakes one sleeper. Never blocks; no system call without sleepers.
//
// Threads: any. Real-time: futex(2).
// Errors: PRT_STATUS_FULL at a count of 2^32 - 1, which is kept; PRT_STATUS_NULL.
int prt_semaphore_post(const struct prt_semaphore *semaphore);

// Lowers the count, sleeping until it is not 0. Neither a signal nor prt_stop() ends the wait.
//
// Threads: any. Real-time: no system call if the count is not 0, otherwise futex(2); blocks.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_wait(const struct prt_semaphore *semaphore);

// Like prt_semaphore_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the count is not 0, it is
// lowered even after that time.
//
// Threads: any. Real-time; blocks.
// Errors: PRT_STATUS_TIMED_OUT: the count is not lowered. PRT_STATUS_NULL.
int prt_semaphore_wait_until(const struct prt_semaphore *semaphore,
                             uint64_t until_ns);

// Lowers the count if it is not 0. Never blocks, no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY if it is 0; PRT_STATUS_NULL.
int prt_semaphore_try_wait(const struct prt_semaphore *semaphore);

// Reads the current count into `*count`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_count(const struct prt_semaphore *semaphore, uint32_t *count);

// Frees a source that was not taken by prt_interrupt_start(). NULL is ignored.
//
// Threads: any ordinary one.
void prt_source_free(struct prt_source *source);

// Creates a counter at 0: eventfd(2).
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED: no more descriptors or memory. PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_eventfd_free().
int prt_eventfd_new(struct prt_eventfd **out);

// Adds `events`, and wakes the task; 0 wakes nobody. Blocks only if 2^64 − 2 of them were not received.
//
// Threads: any. Real-time: write(2).
// Errors: PRT_STATUS_INVALID for more than 2^32; PRT_STATUS_NULL.
int prt_eventfd_raise(const struct prt_eventfd *eventfd,
                      uint64_t events);

// Frees a counter; a source of it remains. NULL is ignored.
//
// Threads: any ordinary one.
void prt_eventfd_free(struct prt_eventfd *eventfd);

// The increments of a counter as source: several before a wakeup are one arrival with several events. They have no
// time stamps.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_eventfd(const struct prt_eventfd *eventfd,
                       struct prt_source **out);

// Creates a timer that is not set. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's until prt_timer_free().
struct prt_timer *prt_timer_new(void);

// Expires at `first_ns`, or at once if that has passed, and then every `interval_ns`; 0: only once. Replaces the
// previous setting; expirations that the task has not received are lost.
//
// Threads: any. Real-time: futex(2) if the task sleeps or is just receiving an expiration.
// Errors: PRT_STATUS_OWNER_DIED if a thread ended while it set the timer; PRT_STATUS_NULL.
int prt_timer_set(const struct prt_timer *timer,
                  uint64_t first_ns,
                  uint64_t interval_ns);

// Disarms the timer.
//
// Threads: any. Real-time: as for prt_timer_set().
// Errors: as for prt_timer_set().
int prt_timer_cancel(const struct prt_timer *timer);

// Frees a timer; a task of it is not woken any more. NULL is ignored.
//
// Threads: any ordinary one.
void prt_timer_free(struct prt_timer *timer);

// The expirations of a timer as source, with the time when each was due.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_BUSY for a second source of a timer; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_timer(const struct prt_timer *timer, struct prt_source **out);

// The interrupts of a UIO device, for example "/dev/uio0", as source: the kernel masks an interrupt until the body has
// returned (Documentation/driver-api/uio-howto.rst). They have no time stamps.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED if it cannot be opened; PRT_STATUS_INVALID if the path is not UTF-8; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_uio(const char *path,
                   struct prt_source **out);

// The edges of line `offset` of a GPIO chip (device, name or label) as source; `edges` is one of enum prt_edges. The
// kernel takes their time stamps in the hard interrupt. The value of an event is 1 for a rising edge, 0 for a falling one.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_REFUSED if there is no such line, or it is in use; PRT_STATUS_INVALID for unknown edges, or a name
// that is not UTF-8; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_gpio(const char *chip,
                    uint32_t offset,
                    int edges,
                    struct prt_source **out);

// A source of one's own: `wait` is called in the task's thread with `data`.
//
// Threads: any ordinary one.
// Errors: PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free(); `data` is used until the task has
// ended.
int prt_source_custom(prt_wait wait,
                      void *data,
                      struct prt_source **out);

// Creates a builder without checks or memory locking. Never NULL.
//
// Threads: any ordinary one.
// Ownership: the caller's, until prt_start() or prt_builder_free().
struct prt_builder *prt_builder_new(void);

// Frees the builder of a program that does not start. NULL is ignored.
void prt_builder_free(struct prt_builder *builder);

// Locks all memory of the program at its start, present and future: mlockall(2), mallopt(3).
//
// Errors: PRT_STATUS_NULL.
int prt_builder_lock_memory(struct prt_builder *builder);

// Sets how many bytes of each task's stack are written before its first release. The default is 256 KiB.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID above 1 GiB.
int prt_builder_prefault_stack(struct prt_builder *builder,
                               size_t bytes);

// Prints no warnings: without this, prt_start() prints a line on standard error for each wanted check that failed or
// could not be made.
//
// Errors: PRT_STATUS_NULL.
int prt_builder_silence_warnings(struct prt_builder *builder);

// Requests a check: `kind` is one of enum prt_check, `argument` its argument or 0, `severity` one of enum
// prt_severity.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for values that do not exist.
int prt_builder_check(struct prt_builder *builder,
                      int kind,
                      uint64_t argument,
                      int severity);

// Requests a check that this SCHED_DEADLINE reservation is granted; it is set for the check, and the previous
// scheduling is restored.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a severity that does not exist.
int prt_builder_check_deadline(struct prt_builder *builder,
                               uint64_t runtime_ns,
                               uint64_t deadline_ns,
                               uint64_t period_ns,
                               int severity);

// Runs the checks, locks memory, and sets the epoch of all tasks to now. Installs an empty handler for SIGURG, which
// wakes sleeping tasks.
//
// Threads: any ordinary one, once per program.
// Errors: PRT_STATUS_NOT_READY with the whole report if a required check failed; PRT_STATUS_REFUSED if memory cannot
// be locked; PRT_STATUS_NULL.
// Ownership: `builder` is freed in any case; `*out` is the caller's until prt_free().
int prt_start(struct prt_builder *builder,
              struct prt **out);

// Results of the checks, one per line: "ok", "FAILED" or "unknown", what was found, and what to do. NULL if `rt` is
// NULL.
//
// Threads: any.
// Ownership: `rt`'s; valid until prt_free().
const char *prt_report(const struct prt *rt);

// Returns true if all checks passed; false if `rt` is NULL.
//
// Threads: any.
bool prt_passed(const struct prt *rt);

// The instant on CLOCK_MONOTONIC at which the release grids of all tasks begin, ns; 0 if `rt` is NULL.
//
// Threads: any. Real-time.
uint64_t prt_epoch_ns(const struct prt *rt);

// Blocks SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup(1)) in the calling thread and those it starts, so that
// prt_until_signal() receives them. Call it at the start of main().
//
// Errors: none on Linux.
int prt_block_signals(void);

// Sleeps until SIGINT, SIGTERM or SIGHUP, then calls prt_stop().
//
// Threads: an ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_until_signal(const struct prt *rt);

// Like prt_until_signal(), but waits at most until `until_ns` on CLOCK_MONOTONIC: PRT_STATUS_TIMED_OUT, and the tasks
// run on.
//
// Threads: an ordinary one, not a task's. Blocks.
// Errors: as for prt_until_signal(); PRT_STATUS_TIMED_OUT.
int prt_until_signal_or(const struct prt *rt,
                        uint64_t until_ns);

// Stops every task and waits until each body has returned. Statistics remain available from their handles.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_stop(const struct prt *rt);

// Stops every task like prt_stop(), and frees `rt`. The tasks' handles remain the caller's. NULL is ignored.
//
// Threads: any ordinary one, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body; nothing is freed then.
int prt_free(struct prt *rt);

// Reads a task's statistics, without stopping or slowing it: its counters and a few files of proc(5). Also works after
// its end.
//
// Threads: any ordinary one; not real-time. Waits while another thread stops this task.
// Errors: PRT_STATUS_NULL.
int prt_task_stats(const struct prt_task *task,
                   struct prt_stats *out);

// The quantile `q` (0 to 1) of one of enum prt_measure, ns, by nearest rank; exact to 1 %, at the extremes exact.
//
// Threads: as for prt_task_stats().
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a measure or `q` out of range; PRT_STATUS_EMPTY if there is no
// sample yet.
int prt_task_quantile(const struct prt_task *task,
                      int measure,
                      double q,
                      uint64_t *out);

// Text of the calling thread's last failed call: what failed, on what, why, and what to do. Empty, and never NULL, if
// none has failed.
//
// Threads: any; each has its own. Real-time.
// Ownership: the library's; valid until the calling thread's next failed call, or its end.
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

// Sets `*options` to a task `name` with `policy` and `priority` every `period_ns`, with PRT_MISS_SKIP, on any CPU,
// without end.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL. Values out of range are detected by prt_task_start().
// Ownership: `name` is only referenced, until prt_task_start() copies it.
int prt_task_options_init(struct prt_task_options *options,
                          const char *name,
                          int policy,
                          int priority,
                          uint64_t period_ns);

// Starts a task: its thread first locks its memory and sets its CPU affinity and policy, and the first release is at
// least a millisecond after that.
//
// Threads: any ordinary one. `body` runs in its own thread, and may be called there with `data` until the task has
// ended.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses
// policy, CPU or thread. Nothing is started then.
// Ownership: `*out` is the caller's until prt_task_free(); `data` and what `options` points to remain the caller's,
// and `data` is used until the task has ended.
int prt_task_start(const struct prt *rt,
                   const struct prt_task_options *options,
                   prt_body body,
                   void *data,
                   struct prt_task **out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PUNCTUAL_RT_H */
