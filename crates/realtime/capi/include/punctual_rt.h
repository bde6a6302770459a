/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C and C++: real-time tasks on Linux that account for every release and event, alarms, locks with priority
 * inheritance, queues, pipes to the shell, a log, marks in the kernel's trace, statistics. Guide: docs/c-interface.md.
 *
 * - Functions that return int return one of enum prt_status, 0 for success; prt_last_error() returns the text.
 * - NULL is an error for a pointer that must not be NULL. Any other pointer must be what the function requires.
 * - Handles belong to the caller from ..._new(), ..._open() or ..._start() until ..._free(). While one is being freed, nothing
 *   else may use it.
 * - Times are nanoseconds on CLOCK_MONOTONIC, intervals are nanoseconds.
 * - "Threads" states which threads may call a function. A function for non-real-time threads may allocate and block.
 *   "Real-time" means that it neither allocates, locks, formats nor faults, and makes no system call that is not named.
 * - No panic of the library reaches the caller: it becomes PRT_STATUS_PANIC, or ends the process if the library is built with
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

// Maximum number of arguments of a record.
#define PRT_ARGS_MOST 4

// Maximum length of a line in a pipe, bytes, without its newline.
#define PRT_LINE_LONGEST 62

// Maximum number of lines waiting in a pipe.
#define PRT_PIPE_MOST 4096

// Maximum size of a value, bytes. For larger values, pass a pointer or an index.
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
  // Nothing is available, for example in an empty queue or pipe.
  PRT_STATUS_EMPTY = 5,
  // There is no room in a queue, pipe or set. The value to be sent remains the caller's.
  PRT_STATUS_FULL = 6,
  // The time limit passed.
  PRT_STATUS_TIMED_OUT = 7,
  // The object is in use by another thread, for example a mutex that is held.
  PRT_STATUS_BUSY = 8,
  // The wait would never end: the thread already holds the mutex, or a task waits for its own end.
  PRT_STATUS_DEADLOCK = 9,
  // The mutex's owner ended while holding it: see prt_mutex_lock().
  PRT_STATUS_OWNER_DIED = 10,
  // A panic inside the library, which is a bug in the library. The object of the call is in an unknown state.
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
  // SCHED_DEADLINE; the task gets `runtime_ns` of CPU time in each period, by `deadline_ns` after the release.
  PRT_POLICY_DEADLINE = 3,
};

// Properties that a real-time program may require of the machine. `punctual audit` checks far more, once per machine.
enum prt_check {
  // The kernel is PREEMPT_RT: CONFIG_PREEMPT_RT. No argument.
  PRT_CHECK_PREEMPT_RT = 0,
  // This SCHED_FIFO priority is granted; it is set for the check, and the previous scheduling is restored.
  PRT_CHECK_PRIORITY = 1,
  // This many bytes can be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
  PRT_CHECK_LOCKED_MEMORY = 2,
  // Timers have nanosecond resolution. No argument.
  PRT_CHECK_HIGH_RESOLUTION_TIMERS = 3,
  // The clock is read without a system call. No argument.
  PRT_CHECK_FAST_CLOCK = 4,
  // No mechanism takes the CPU from a real-time task that does not sleep: neither RT throttling nor the fair server,
  // whose settings only root can read. With the kernel's defaults the check fails; a program that leaves 5 % of each
  // CPU unused does not need it. No argument.
  PRT_CHECK_NO_THROTTLING = 5,
  // No thread of another program has this priority or a higher one, or is SCHED_DEADLINE. Kernel threads count,
  // except the stoppers (migration/N).
  PRT_CHECK_FOREIGN_RT_ABOVE = 6,
  // The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME. No argument.
  PRT_CHECK_NO_RT_TIME_LIMIT = 7,
  // This CPU is isolated from other tasks: isolcpus=, or an isolated cpuset partition.
  PRT_CHECK_ISOLATED = 8,
  // This CPU's frequency does not change.
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

// Return value of a body. Any other number counts as PRT_NEXT_STOP.
enum prt_next {
  // Wait for the next release.
  PRT_NEXT_CONTINUE = 0,
  // End the task.
  PRT_NEXT_STOP = 1,
};

// What happens to releases that pass while the task is late by a period or more. released == ran + skipped + pending
// always holds.
enum prt_miss {
  // Missed releases are counted but not run. The next release is the first in the future, at its unchanged time.
  PRT_MISS_SKIP = 0,
  // Missed releases run immediately, one after the other. At most `catch_up_at_most` are pending; older ones are
  // counted but not run.
  PRT_MISS_CATCH_UP = 1,
  // The task ends without running the late release.
  PRT_MISS_STOP = 2,
  // `safe_state` runs instead of the body for the late release. All missed releases, including the late one, count
  // as skipped.
  PRT_MISS_SAFE_STATE = 3,
};

// How a task ended.
enum prt_end {
  // The task's body, or its safe_state function, returned PRT_NEXT_STOP.
  PRT_END_RETURNED = 0,
  // The program stopped the task.
  PRT_END_STOPPED = 1,
  // The task has run its number of cycles.
  PRT_END_CYCLES = 2,
  // The task was late by a period, and its policy is PRT_MISS_STOP.
  PRT_END_MISSED = 3,
  // The task failed inside the library, which is a bug in the library.
  PRT_END_FAILED = 4,
  // The task's source of events failed. prt_interrupt_get_counts() returns the error.
  PRT_END_SOURCE_FAILED = 5,
};

// Times that are measured for a task.
enum prt_measure {
  // Lateness of the task's wakeup.
  PRT_MEASURE_LATENESS = 0,
  // Time from the task's wakeup to the body's return.
  PRT_MEASURE_EXECUTION = 1,
};

// What happens to a value that does not fit because the queue is full. Each such value is counted.
enum prt_overflow {
  // The sender gets PRT_STATUS_FULL.
  PRT_OVERFLOW_REFUSE = 0,
  // The value is dropped, and the sender is not notified.
  PRT_OVERFLOW_DROP_NEWEST = 1,
  // The oldest waiting value is dropped to make room. For mailboxes only.
  PRT_OVERFLOW_DROP_OLDEST = 2,
};

// How many of the requested flags must be set.
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
  // Something is unusual, but the program continues.
  PRT_LEVEL_WARNING = 1,
  // Normal operation.
  PRT_LEVEL_INFO = 2,
  // Details for troubleshooting.
  PRT_LEVEL_DEBUG = 3,
};

// Edges of a GPIO line that are events.
enum prt_edges {
  // Edges from inactive to active.
  PRT_EDGES_RISING = 0,
  // Edges from active to inactive.
  PRT_EDGES_FALLING = 1,
  // Both edges.
  PRT_EDGES_BOTH = 2,
};

// A started real-time program: creates tasks, and stops them together.
struct prt;

// Up to PRT_ALARMS_MOST alarms, each with a time after a common epoch and a number that identifies its action. Each
// alarm has an absolute time: if one is late, the next still runs on time.
struct prt_alarms;

// Requirements of a program, checked before it starts. Only one thread may use it.
struct prt_builder;

// A condition variable: threads wait on it until another thread has changed the data that a prt_mutex protects. The
// kernel moves a notified thread to the mutex's queue, where it lends its priority to the owner and wakes only once,
// when it owns the mutex: FUTEX_WAIT_REQUEUE_PI, futex(2). All waiters of one condition variable must use the same
// mutex. A wait can end spuriously, so wait in a loop. For threads of one process.
struct prt_cond;

// A counter that other threads and processes increment: eventfd(2).
struct prt_eventfd;

// A group of 32 event flags. Threads set and clear flags; other threads wait until some or all flags of a mask are
// set. Flags are states, not counts: a flag set twice before it is cleared counts once. They have no owner, so there
// is no priority inheritance. For threads of one process.
struct prt_flags;

// Interrupt threads whose priority was changed. prt_irq_threads_free() restores the old priorities.
struct prt_irq_threads;

// A log with a prt_recorder for each real-time thread. An ordinary thread polls the recorders every 20 ms, sorts the
// records by time, formats and writes them, and reports how many were dropped.
struct prt_log;

// A bounded mailbox that passes values in order of arrival from any number of threads to one thread, which sleeps
// while the mailbox is empty. Writers take turns through a mutex with priority inheritance, which they hold while they
// copy one value. For threads of one process.
struct prt_mailbox;

// Writes marks into the kernel's trace, between its scheduler events: lines `punctual: NAME` or `punctual: NAME VALUE`
// in trace_marker (Documentation/trace/ftrace.rst). Marks that cannot be written are only counted.
struct prt_marks;

// A mutex with priority inheritance. While a thread waits, the owner runs at least at that thread's priority, so that
// threads of intermediate priority do not delay the waiter: FUTEX_LOCK_PI2, futex(2). Waiters get the mutex in order
// of their priority. For threads of one process; not for signal handlers, nor for the child of fork(2).
struct prt_mutex;

// A pipe for lines from the shell to a real-time thread: `echo d21 > /run/NAME`.
struct prt_pipe_in;

// A pipe for lines from a real-time thread to the shell: `cat /run/NAME`.
struct prt_pipe_out;

// The reading end of a queue.
struct prt_receiver;

// The writing end of a log, used by one real-time thread.
struct prt_recorder;

// A counting semaphore: prt_semaphore_post() raises the count, prt_semaphore_wait() lowers it, sleeping while it is 0.
// Waiters wake in order of their real-time priority; a thread that calls prt_semaphore_wait() in the meantime may
// lower the count first. A semaphore has no owner, so there is no priority inheritance: protect data with a prt_mutex.
// For threads of one process.
struct prt_semaphore;

// The writing end of a queue.
struct prt_sender;

// A source of events for an interrupt task. prt_interrupt_start() takes ownership of it.
struct prt_source;

// A started task, created by prt_task_start() or prt_interrupt_start().
struct prt_task;

// A timer on CLOCK_MONOTONIC that other threads set. On PREEMPT_RT it expires in hard interrupt context if its task is
// real-time, in contrast to a timerfd.
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

// Action of an alarm, called in the thread that called prt_alarms_run(). It has the same rules and return values as a
// prt_body.
typedef int (*prt_alarm_action)(const struct prt_rung *rung, void *data);

// Options of an interrupt task. Initialise them with prt_interrupt_options_init(), then change individual options.
struct prt_interrupt_options {
  // Name of the task. Its first 15 bytes are the name of the thread. Copied.
  const char *name;
  // One of enum prt_policy, but not PRT_POLICY_DEADLINE.
  int policy;
  // Priority 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
  int priority;
  // CPU to pin the task to; −1 for any.
  int cpu;
  // Reserved for later versions; must be 0.
  uint64_t reserved[4];
};

// The argument of an interrupt task's body: one wakeup for one or more events. Times are on CLOCK_MONOTONIC.
struct prt_interrupt {
  // Number of the event, from 0; coalesced and lost events are counted, too.
  uint64_t sequence;
  // Time at which the kernel saw the event, ns; 0 if its source has no time stamps.
  uint64_t at_ns;
  // Time at which the thread woke for the event, ns.
  uint64_t woke_ns;
  // Number of further events that arrived before the thread woke, and for which the body does not run.
  uint64_t coalesced;
  // Number of events that the source lost before this one.
  uint64_t lost;
  // Value of the event: the edge of a GPIO line (1 rising, 0 falling), or the value that a prt_wait function has
  // set; otherwise 0.
  uint64_t value;
};

// The body of an interrupt task. It has the same rules and return values as a prt_body.
typedef int (*prt_interrupt_body)(const struct prt_interrupt *interrupt, void *data);

// Counters of an interrupt task: events == handled + coalesced + lost.
struct prt_interrupt_counts {
  // Total number of events.
  uint64_t events;
  // Number of wakeups for which the body ran.
  uint64_t handled;
  // Number of events that arrived together with a handled one.
  uint64_t coalesced;
  // Number of events that the source lost.
  uint64_t lost;
  // The errno of the source if it ended the task; otherwise 0.
  int source_error;
};

// A number in a record, created by prt_arg_unsigned(), prt_arg_signed(), prt_arg_double() or prt_arg_time().
struct prt_arg {
  // The bits of the number.
  uint64_t bits;
  // The type of the number: 0 unsigned, 1 signed, 2 double, 3 time.
  uint64_t kind;
};

// Counters of a log.
struct prt_log_counts {
  // Number of records written.
  uint64_t written;
  // Number of records dropped because a recorder was full.
  uint64_t dropped;
  // Number of records that could not be written to the output.
  uint64_t failed;
};

// Counters of a mailbox: sent == received + dropped_oldest + waiting values.
struct prt_mailbox_counts {
  // Number of values put into the mailbox.
  uint64_t sent;
  // Number of values taken out of the mailbox.
  uint64_t received;
  // Number of values dropped because the mailbox was full (PRT_OVERFLOW_DROP_NEWEST).
  uint64_t dropped_newest;
  // Number of waiting values dropped to make room (PRT_OVERFLOW_DROP_OLDEST).
  uint64_t dropped_oldest;
  // Number of values returned to the sender because the mailbox was full (PRT_OVERFLOW_REFUSE).
  uint64_t refused;
};

// Counters of marks.
struct prt_mark_counts {
  // Number of marks written to the trace.
  uint64_t written;
  // Number of marks that could not be written.
  uint64_t failed;
};

// Counters of a pipe.
struct prt_pipe_counts {
  // Number of lines read from the FIFO and passed to the real-time side.
  uint64_t received;
  // Number of lines from the real-time side that were written to the FIFO.
  uint64_t sent;
  // Number of lines dropped because the ring was full.
  uint64_t dropped;
  // Number of lines returned to the real-time sender because the ring was full.
  uint64_t refused;
  // Number of lines longer than PRT_LINE_LONGEST.
  uint64_t malformed;
};

// Counters of a queue: sent == received + waiting values + values that were never received.
struct prt_queue_counts {
  // Number of values put into the queue.
  uint64_t sent;
  // Number of values taken out of the queue.
  uint64_t received;
  // Number of values dropped because the queue was full.
  uint64_t dropped;
  // Number of values returned to the sender because the queue was full.
  uint64_t refused;
};

// An event, as reported by a prt_wait function.
struct prt_arrival {
  // Time of the event, ns on CLOCK_MONOTONIC; 0 if unknown.
  uint64_t at_ns;
  // Number of events in this arrival, more than one if several occurred before it was read; 0 if there was none, and
  // the function is to be called again.
  uint64_t events;
  // Number of events that were lost before this one.
  uint64_t lost;
  // Value of the event, which is passed to the body.
  uint64_t value;
};

// Waits for the next event and stores it in `*arrival`, which is {0, 1, 0, 0} before the call. Returns 0, or an errno.
// EINTR means that a signal ended the wait (prt_task_stop() sends SIGURG); the function is then called again unless
// the task was stopped. Any other errno ends the task with PRT_END_SOURCE_FAILED. The rules of a prt_body apply,
// except that the function blocks.
typedef int (*prt_wait)(struct prt_arrival *arrival, void *data);

// Exact summary of a distribution of times. prt_task_quantile() returns quantiles.
struct prt_distribution {
  // Number of samples. If it is 0, the other fields are 0 and meaningless.
  uint64_t count;
  // Minimum, ns.
  uint64_t min_ns;
  // Maximum, ns.
  uint64_t max_ns;
  // Mean, ns.
  double mean_ns;
};

// Statistics of a task, read while it runs or after its end. For an interrupt task a release is an event: `released`
// is the number of all events, `ran` the number of events for which its body ran, and `skipped` the number of
// coalesced and lost events, which prt_interrupt_get_counts() distinguishes.
struct prt_stats {
  // Time at which the statistics were read, ns on CLOCK_MONOTONIC.
  uint64_t at_ns;
  // Number of releases so far: ran + skipped + pending.
  uint64_t released;
  // Number of releases for which the body ran, including at most one that is still running.
  uint64_t ran;
  // Number of skipped releases.
  uint64_t skipped;
  // Number of releases that are due and will still run.
  uint64_t pending;
  // Number of times the body returned after the deadline of its release.
  uint64_t deadline_misses;
  // Number of times the kernel throttled the task because its runtime was used up; 0 without PRT_POLICY_DEADLINE.
  uint64_t overruns;
  // Lateness of the task's wakeup, one sample per release that ran. For an interrupt task, it counts from the time
  // stamp of the event, and is empty if its source has no time stamps.
  struct prt_distribution lateness;
  // Time from the task's wakeup to the body's return, including preemption; empty if `without_execution` is set.
  struct prt_distribution execution;
  // Release number of the wakeup with the largest lateness; 0 if none was late.
  uint64_t worst_index;
  // Time at which that release was due, ns on CLOCK_MONOTONIC; 0 if none was late.
  uint64_t worst_scheduled_ns;
  // Number of minor and major page faults of the task's thread since the first release; −1 if the kernel does not
  // report them.
  int64_t page_faults;
  // Number of voluntary context switches, about one per release; −1 if the kernel does not report them.
  int64_t voluntary_switches;
  // Number of involuntary context switches; −1 if the kernel does not report them.
  int64_t involuntary_switches;
  // Number of migrations to another CPU; −1 if the kernel does not report them.
  int64_t migrations;
};

// One release of a task; the argument of its body. Times are on CLOCK_MONOTONIC.
struct prt_cycle {
  // Number of the release, from 0, including skipped ones.
  uint64_t index;
  // Time at which the release was due, ns: first release + index × period, however late earlier cycles were.
  uint64_t scheduled_ns;
  // Time at which the thread woke for this release, ns.
  uint64_t woke_ns;
  // Number of missed releases, for which the body will not run, between this one and the next that will run.
  uint64_t skipped;
  // Number of releases that are due and will still run; only with PRT_MISS_CATCH_UP.
  uint64_t pending;
  // Number of times the kernel throttled the task since its previous cycle because its runtime was used up; only
  // with PRT_POLICY_DEADLINE.
  uint64_t overruns;
};

// The body of a task. It runs in the task's thread at every release and returns one of enum prt_next. It must not
// allocate, lock what ordinary threads lock (except with a prt_mutex), print, or touch memory for the first time; no
// C++ exception and no longjmp() may leave it. It may call the functions of this library that are marked real-time.
typedef int (*prt_body)(const struct prt_cycle *cycle, void *data);

// Options of a task. Initialise them with prt_task_options_init(), then change individual options.
struct prt_task_options {
  // Name of the task. Its first 15 bytes are the name of the thread. Copied.
  const char *name;
  // Period, ns; at least 1.
  uint64_t period_ns;
  // One of enum prt_policy. Threads and processes that the task creates always get SCHED_OTHER.
  int policy;
  // Priority 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
  int priority;
  // CPU to pin the task to; −1 for any. With PRT_POLICY_DEADLINE it must be the only CPU of its root domain.
  int cpu;
  // One of enum prt_miss.
  int miss;
  // For PRT_MISS_CATCH_UP: maximum number of pending releases.
  uint64_t catch_up_at_most;
  // For PRT_MISS_SAFE_STATE: function that runs instead of the body, under the same rules.
  prt_body safe_state;
  // Argument of `safe_state`.
  void *safe_state_data;
  // For PRT_POLICY_DEADLINE: CPU time per period, ns.
  uint64_t runtime_ns;
  // Time after a release by which the body should return, ns; 0 means the period. With PRT_POLICY_DEADLINE it is
  // also the kernel's deadline.
  uint64_t deadline_ns;
  // Offset of the releases, ns: they are at prt_epoch_ns() + offset + a multiple of the period.
  uint64_t offset_ns;
  // Number of releases after which the task ends, whether its body ran for them or they were skipped; 0 for no end.
  uint64_t cycles;
  // For PRT_POLICY_DEADLINE with a deadline before the end of the period: after an activation that is late by more
  // than this, ns, the task skips the next release; otherwise every later activation would be equally late. 0 means
  // an eighth of the time from the runtime to the deadline.
  uint64_t late_activation_ns;
  // Disables the measurement of execution times and deadline misses, which saves one clock read per cycle.
  bool without_execution;
  // For PRT_POLICY_DEADLINE: the task may also use the bandwidth that other deadline tasks leave unused.
  bool reclaim;
  // For PRT_POLICY_DEADLINE: each job ends with sched_yield(2). A late activation then delays all later releases.
  bool end_jobs_by_yield;
  // Reserved for later versions; must be 0.
  uint64_t reserved[4];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates an empty set. Never returns NULL. Installs an empty handler for SIGURG, with which prt_alarms_stop() wakes
// the thread that runs the set.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_alarms_free().
struct prt_alarms *prt_alarms_new(void);

// Frees the set. NULL is ignored.
//
// Errors: PRT_STATUS_BUSY while it runs; in this case it is not freed.
int prt_alarms_free(struct prt_alarms *alarms);

// Adds an alarm `after_ns` after the epoch. Alarms with the same time run in the order in which they were added.
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_FULL; PRT_STATUS_BUSY while it runs; PRT_STATUS_INVALID for more than 31 years; PRT_STATUS_NULL.
int prt_alarms_add(struct prt_alarms *alarms,
                   uint64_t after_ns,
                   int64_t action);

// Removes all alarms, and cancels the effect of prt_alarms_stop().
//
// Threads: one at a time. Real-time.
// Errors: PRT_STATUS_BUSY while it runs; PRT_STATUS_NULL.
int prt_alarms_clear(struct prt_alarms *alarms);

// Runs all alarms in the calling thread, ordered by time. Sleeps until each is due, with one system call per alarm;
// alarms that are already due run at once. Ends early if an action returns anything but PRT_NEXT_CONTINUE, or if
// prt_alarms_stop() is called.
//
// Threads: one at a time, which should be real-time. Real-time; blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_BUSY, PRT_STATUS_INVALID for an epoch beyond 2^62 ns. `*done` receives the
// number of alarms that ran; `done` may be NULL.
int prt_alarms_run(struct prt_alarms *alarms,
                   uint64_t epoch_ns,
                   prt_alarm_action action,
                   void *data,
                   size_t *done);

// Ends the current run, and every later one until prt_alarms_clear(). Waits until the current run has ended, unless
// called by the thread that runs the set. A running action is not interrupted.
//
// Threads: any non-real-time thread, or the one that runs the set. Blocks.
// Errors: PRT_STATUS_NULL.
int prt_alarms_stop(struct prt_alarms *alarms);

// Returns the current time, ns on CLOCK_MONOTONIC. Reads the vDSO without a system call.
//
// Threads: any. Real-time.
uint64_t prt_now_ns(void);

// Sleeps until `at_ns` on CLOCK_MONOTONIC: clock_nanosleep(2), TIMER_ABSTIME. Signals do not end the sleep.
//
// Threads: any. Real-time; blocks. A task whose body sleeps is stopped only after the sleep.
// Errors: PRT_STATUS_INVALID for a time after 2^63 ns.
int prt_sleep_until(uint64_t at_ns);

// Creates a condition variable. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_cond_free().
struct prt_cond *prt_cond_new(void);

// Frees the condition variable. NULL is ignored.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_BUSY if a thread waits for it, or has not yet returned from its wait; in this case it is not
// freed.
int prt_cond_free(struct prt_cond *cond);

// Releases the mutex, sleeps until notified (or until a spurious wakeup), and takes the mutex again.
//
// Threads: the one that holds the mutex. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex; in this case it has not waited.
// PRT_STATUS_OWNER_DIED as for prt_mutex_lock(). PRT_STATUS_NULL. prt_mutex_is_mine() reports whether the mutex is
// held after an error.
int prt_cond_wait(const struct prt_cond *cond,
                  const struct prt_mutex *mutex);

// Like prt_cond_wait(), but waits for a notification at most until `until_ns` on CLOCK_MONOTONIC. The mutex is taken
// again in any case, which may take longer.
//
// Threads: the one that holds the mutex. Real-time; blocks.
// Errors: as for prt_cond_wait(); PRT_STATUS_TIMED_OUT, in which case the calling thread holds the mutex.
int prt_cond_wait_until(const struct prt_cond *cond,
                        const struct prt_mutex *mutex,
                        uint64_t until_ns);

// Wakes the waiter with the highest priority, which gets the mutex once the caller releases it. Never blocks; makes no
// system call if no thread waits.
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex, or the waiters use another mutex.
// PRT_STATUS_NULL.
int prt_cond_notify_one(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// Wakes all waiters, which get the mutex one after the other, ordered by priority. See prt_cond_notify_one().
//
// Threads: the one that holds the mutex. Real-time: futex(2).
// Errors: as for prt_cond_notify_one().
int prt_cond_notify_all(const struct prt_cond *cond,
                        const struct prt_mutex *mutex);

// Creates a group with these flags set. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_flags_free().
struct prt_flags *prt_flags_new(uint32_t set);

// Frees the group. No thread may be waiting for it or be inside prt_flags_set(), which may still be running when a
// thread that it woke continues. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_flags_free(struct prt_flags *flags);

// Sets flags and wakes the sleepers. Never blocks; makes no system call if no thread sleeps.
//
// Threads: any. Real-time: futex(2).
// Errors: PRT_STATUS_NULL.
int prt_flags_set(const struct prt_flags *flags, uint32_t mask);

// Clears flags. `*were` receives those of them that were set; `were` may be NULL. Never blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_clear(const struct prt_flags *flags, uint32_t mask, uint32_t *were);

// Reads the current flags into `*set`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_flags_get(const struct prt_flags *flags, uint32_t *set);

// Stores in `*set` the flags of `mask` that are set, if they satisfy `how`, which is one of enum prt_match. Never
// blocks.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY if they do not satisfy `how`; PRT_STATUS_INVALID for a mask of 0 or an unknown `how`;
// PRT_STATUS_NULL.
int prt_flags_try_wait(const struct prt_flags *flags,
                       uint32_t mask,
                       int how,
                       uint32_t *set);

// Like prt_flags_try_wait(), but also clears these flags in the same atomic step, so that only one thread takes an
// event.
//
// Threads: any. Real-time.
// Errors: as for prt_flags_try_wait(); nothing is cleared in this case.
int prt_flags_try_take(const struct prt_flags *flags,
                       uint32_t mask,
                       int how,
                       uint32_t *set);

// Sleeps until enough flags of `mask` are set and stores these flags in `*set`; `how` is one of enum prt_match.
// Neither a signal nor prt_stop() ends the wait.
//
// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
// Errors: PRT_STATUS_INVALID for a mask of 0 or an unknown `how`; PRT_STATUS_NULL.
int prt_flags_wait(const struct prt_flags *flags,
                   uint32_t mask,
                   int how,
                   uint32_t *set);

// Like prt_flags_wait(), but also clears these flags in the same atomic step, so that only one thread takes an event.
//
// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
// Errors: as for prt_flags_wait().
int prt_flags_take(const struct prt_flags *flags,
                   uint32_t mask,
                   int how,
                   uint32_t *set);

// Like prt_flags_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the flags are already set, it
// succeeds even if that time has passed.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_flags_wait(); PRT_STATUS_TIMED_OUT.
int prt_flags_wait_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// Like prt_flags_take(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the flags are already set, it
// succeeds even if that time has passed.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_flags_take(); PRT_STATUS_TIMED_OUT, in which case nothing is cleared.
int prt_flags_take_until(const struct prt_flags *flags,
                         uint32_t mask,
                         int how,
                         uint64_t until_ns,
                         uint32_t *set);

// Returns why the task's memory is not locked; an empty string if it is locked; NULL if `task` is NULL.
//
// Threads: any.
// Ownership: the string belongs to the task and is valid until prt_task_free().
const char *prt_task_not_resident(const struct prt_task *task);

// Asks the task to end and waits until it has ended. A running body is not interrupted; a sleeping task is woken. If
// the task has already ended, returns the same end again.
//
// Threads: any non-real-time thread, not a task's. Blocks.
// Errors: PRT_STATUS_NULL; PRT_STATUS_DEADLOCK from a task's body. `*end` receives one of enum prt_end; `end` may be
// NULL.
int prt_task_stop(const struct prt_task *task,
                  int *end);

// Waits until the task ends on its own. Other threads may read its statistics in the meantime.
//
// Threads: any non-real-time thread, not a task's. Blocks; polls at least every 10 ms.
// Errors: as for prt_task_stop().
int prt_task_join(const struct prt_task *task, int *end);

// Stops the task like prt_task_stop() if it is still running, and frees its handle. NULL is ignored.
//
// Threads: any non-real-time thread, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body; in this case nothing is freed.
int prt_task_free(struct prt_task *task);

// Sets `*options` to the defaults for a task `name` with `policy` and `priority` on any CPU.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL. prt_interrupt_start() detects values out of range.
// Ownership: only the pointer `name` is stored; prt_interrupt_start() copies the text.
int prt_interrupt_options_init(struct prt_interrupt_options *options,
                               const char *name,
                               int policy,
                               int priority);

// Starts a task whose body runs at every event of `source`. prt_task_stats(), prt_task_stop(), prt_task_join() and
// prt_task_free() also work with it.
//
// Threads: any non-real-time thread. `body` is called in the task's thread with `data`, until the task has ended.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses the
// policy, the CPU or the thread. In these cases nothing is started.
// Ownership: `source` is freed in any case. `*out` is the caller's until prt_task_free(); `data` and what `options`
// points to remain the caller's, and `data` is used until the task has ended.
int prt_interrupt_start(const struct prt *rt,
                        const struct prt_interrupt_options *options,
                        struct prt_source *source,
                        prt_interrupt_body body,
                        void *data,
                        struct prt_task **out);

// Reads the counters of an interrupt task, even after its end.
//
// Threads: any non-real-time thread. Waits while another thread stops this task.
// Errors: PRT_STATUS_INVALID for a periodic task; PRT_STATUS_NULL.
int prt_interrupt_get_counts(const struct prt_task *task, struct prt_interrupt_counts *out);

// Gives every thread of interrupt `irq` (irq/NN-name) this SCHED_FIFO priority. It should be lower than that of tasks
// that the interrupt must not delay, and at least that of tasks that wait for the interrupt. A program that is killed
// does not restore the priority.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_INVALID for a priority outside 1 to 99, or a negative interrupt; PRT_STATUS_REFUSED if the
// interrupt has no thread or the kernel refuses (CAP_SYS_NICE), in which case nothing is changed; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_irq_threads_free().
int prt_irq_threads_set(int irq,
                        int priority,
                        struct prt_irq_threads **out);

// Restores the priorities. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_irq_threads_free(struct prt_irq_threads *threads);

// Returns an unsigned number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_unsigned(uint64_t value);

// Returns a signed number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_signed(int64_t value);

// Returns a floating-point number for prt_record().
//
// Threads: any. Real-time.
struct prt_arg prt_arg_double(double value);

// Returns a duration for prt_record(); `ns` is in nanoseconds. The log shows it with a unit.
//
// Threads: any. Real-time.
struct prt_arg prt_arg_time(uint64_t ns);

// Starts a log that writes lines `SECONDS LEVEL NAME: TEXT` to the file descriptor `fd`. SECONDS is the time of the
// record on CLOCK_MONOTONIC. The descriptor is duplicated.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_INVALID for a negative descriptor; PRT_STATUS_REFUSED if the descriptor is not open, or the log's
// thread cannot be started; PRT_STATUS_NULL.
// Ownership: `fd` remains the caller's; `*out` is the caller's until prt_log_free().
int prt_log_start(int fd,
                  struct prt_log **out);

// Creates a recorder with space for `capacity` records; `name` appears in its lines. Its memory is locked if
// RLIMIT_MEMLOCK or CAP_IPC_LOCK allows it.
//
// Threads: any non-real-time thread, before the real-time part. Errors: PRT_STATUS_INVALID for a capacity of 0 or of
// more than a million; PRT_STATUS_REFUSED if there is not enough memory; PRT_STATUS_NULL. Ownership: `*out` is the
// caller's until prt_recorder_free(), before or after the log is freed.
int prt_log_recorder(const struct prt_log *log,
                     const char *name,
                     size_t capacity,
                     struct prt_recorder **out);

// Records the time, `text`, and `count` numbers, which replace each `{}` in `text` in order. If there is no space, the
// record is dropped and counted. `level` is one of enum prt_level.
//
// Threads: only the thread of the recorder. Real-time: wait-free, one clock read, no system call.
// Errors: PRT_STATUS_INVALID for an unknown level or type of number, more than PRT_ARGS_MOST numbers, or text that is
// not UTF-8; PRT_STATUS_NULL.
// Ownership: only the pointer `text` is stored: the text, for example a string literal, must not change until the log
// is freed. `args` are copied.
int prt_record(struct prt_recorder *recorder,
               int level,
               const char *text,
               const struct prt_arg *args,
               size_t count);

// Reads the counters of a log.
//
// Threads: any non-real-time thread: takes a lock that the writing thread holds while it formats.
// Errors: PRT_STATUS_NULL.
int prt_log_get_counts(const struct prt_log *log, struct prt_log_counts *out);

// Frees a recorder; its records are still written, and its memory is freed after that. NULL is ignored.
//
// Threads: any non-real-time thread, after the recorder's thread has ended.
void prt_recorder_free(struct prt_recorder *recorder);

// Writes the remaining records and ends the log. NULL is ignored. If the output accepts nothing for 2 s, for example
// because the reader of a pipe has stopped, the rest is lost.
//
// Threads: any non-real-time thread. Waits for the writing thread.
void prt_log_free(struct prt_log *log);

// Creates a mailbox for `capacity` values of `size` bytes. `overflow` is one of enum prt_overflow. The mailbox's
// memory is locked if RLIMIT_MEMLOCK or CAP_IPC_LOCK allows it.
//
// Threads: any non-real-time thread. Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size
// beyond PRT_QUEUE_LARGEST, more than 1 GiB, or an unknown policy; PRT_STATUS_REFUSED if there is not enough memory
// or, if all memory is locked, RLIMIT_MEMLOCK does not allow it. Ownership: `*out` is the caller's until
// prt_mailbox_free().
int prt_mailbox_new(size_t size,
                    size_t capacity,
                    int overflow,
                    struct prt_mailbox **out);

// Frees the mailbox and the values that wait in it. No thread may be using it. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_mailbox_free(struct prt_mailbox *mailbox);

// Sends a copy of the `size` bytes at `value`; `size` must be the size given to prt_mailbox_new().
//
// Threads: any. Real-time: waits at most while another value is copied; futex(2) if another thread holds the lock or
// the reader sleeps.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for another size; PRT_STATUS_OWNER_DIED if a
// thread ended while it held the lock; PRT_STATUS_NULL.
int prt_mailbox_send(const struct prt_mailbox *mailbox,
                     const void *value,
                     size_t size);

// Takes the oldest value, sleeping until there is one, and copies its `size` bytes to `value`; the size must be the
// mailbox's. Neither a signal nor prt_stop() ends the wait.
//
// Threads: any; with several readers, each value goes to one of them. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_INVALID for another size; PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL. In these cases no value is
// taken.
int prt_mailbox_receive(const struct prt_mailbox *mailbox,
                        void *value,
                        size_t size);

// Like prt_mailbox_receive(), but waits at most until `until_ns` on CLOCK_MONOTONIC.
//
// Threads: any. Real-time: futex(2); blocks.
// Errors: PRT_STATUS_TIMED_OUT; those of prt_mailbox_receive(). In these cases no value is taken.
int prt_mailbox_receive_until(const struct prt_mailbox *mailbox,
                              void *value,
                              size_t size,
                              uint64_t until_ns);

// Like prt_mailbox_receive(), but does not wait until a value arrives.
//
// Threads: any. Real-time: waits at most while another value is copied.
// Errors: PRT_STATUS_EMPTY; those of prt_mailbox_receive(). In these cases no value is taken.
int prt_mailbox_try_receive(const struct prt_mailbox *mailbox, void *value, size_t size);

// Reads the counters.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_OWNER_DIED; PRT_STATUS_NULL.
int prt_mailbox_get_counts(const struct prt_mailbox *mailbox, struct prt_mailbox_counts *out);

// Opens the kernel's trace_marker. This needs a mounted tracefs and permission to write to the file, which only root
// has by default.
//
// Threads: a non-real-time thread, before the real-time part.
// Errors: PRT_STATUS_REFUSED, with the reason, if the file cannot be opened: `*out` is set nevertheless, and its marks
// are only counted. PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_marks_free().
int prt_marks_open(struct prt_marks **out);

// Writes `punctual: NAME` into the trace. Each space and control character in the name becomes `_`, and the name is
// cut after 64 bytes.
//
// Threads: any. Real-time: one write(2), or none if trace_marker is not open.
// Errors: PRT_STATUS_REFUSED if the mark was not written, which is counted; PRT_STATUS_INVALID if the name is not
// UTF-8; PRT_STATUS_NULL.
int prt_mark(const struct prt_marks *marks,
             const char *name);

// Like prt_mark(), but writes `punctual: NAME VALUE`.
//
// Threads: any. Real-time: one write(2), or none if trace_marker is not open.
// Errors: as for prt_mark().
int prt_mark_value(const struct prt_marks *marks, const char *name, uint64_t value);

// Says that the program is late: writes `punctual: late`, or with a name `punctual: late NAME`. `punctual watch --app`
// then keeps and explains the events before it. `name` may be NULL.
//
// Threads: any. Real-time: one write(2), or none if trace_marker is not open. Errors: as for prt_mark(), but a NULL
// name is not an error.
int prt_late(const struct prt_marks *marks,
             const char *name);

// Returns PRT_STATUS_REFUSED if a mark is not in the trace; prt_last_error() then returns the reason and what to do.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_REFUSED, PRT_STATUS_NULL.
int prt_marks_check(const struct prt_marks *marks);

// Reads the counters.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_marks_counts(const struct prt_marks *marks, struct prt_mark_counts *out);

// Closes trace_marker. NULL is ignored.
//
// Threads: any non-real-time thread, after the last mark.
void prt_marks_free(struct prt_marks *marks);

// Creates an unlocked mutex. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_mutex_free().
struct prt_mutex *prt_mutex_new(void);

// Frees the mutex. NULL is ignored.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_BUSY if another thread holds it, PRT_STATUS_DEADLOCK if the calling thread does; in these cases
// it is not freed. A lost mutex (its owner ended while no thread waited) counts as held forever.
int prt_mutex_free(struct prt_mutex *mutex);

// Locks the mutex, waiting as long as necessary. A signal does not end the wait.
//
// Threads: any. Real-time: no system call if the mutex is free, otherwise futex(2); blocks.
// Errors: PRT_STATUS_DEADLOCK: the calling thread already holds the mutex. PRT_STATUS_OWNER_DIED: the owner ended
// while holding it. If prt_mutex_is_mine() returns true, the calling thread holds it now: repair the data that it
// protects, then unlock as usual; otherwise the mutex is lost. PRT_STATUS_NULL, PRT_STATUS_REFUSED.
int prt_mutex_lock(const struct prt_mutex *mutex);

// Like prt_mutex_lock(), but waits at most until `until_ns` on CLOCK_MONOTONIC. A free mutex is locked even if that
// time has passed.
//
// Threads: any. Real-time; blocks.
// Errors: as for prt_mutex_lock(); PRT_STATUS_TIMED_OUT; PRT_STATUS_REFUSED before Linux 5.14.
int prt_mutex_lock_until(const struct prt_mutex *mutex,
                         uint64_t until_ns);

// Locks the mutex if it is free. Never blocks, makes no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_BUSY, PRT_STATUS_DEADLOCK, PRT_STATUS_NULL.
int prt_mutex_try_lock(const struct prt_mutex *mutex);

// Unlocks the mutex. The waiter with the highest priority gets it. Makes no system call if no thread waits.
//
// Threads: the thread that holds it. Real-time.
// Errors: PRT_STATUS_REFUSED if the calling thread does not hold it, in which case nothing changes. PRT_STATUS_NULL.
int prt_mutex_unlock(const struct prt_mutex *mutex);

// Returns true if the calling thread holds the mutex; false if `mutex` is NULL.
//
// Threads: any. Real-time.
bool prt_mutex_is_mine(const struct prt_mutex *mutex);

// Opens a pipe from the shell. `at` without a slash is a name under /run, otherwise it is a path. If the FIFO does not
// exist, it is created, and removed by prt_pipe_in_free(). An existing FIFO is used and left in place; a FIFO used by
// another running program is refused. The pipe holds at least `capacity` lines (16, 64, 256, 1024 or 4096). `overflow`
// is one of enum prt_overflow; with PRT_OVERFLOW_REFUSE the FIFO's writers wait.
//
// Threads: any non-real-time thread. Errors: PRT_STATUS_REFUSED; PRT_STATUS_INVALID for a capacity of 0 or beyond
// PRT_PIPE_MOST, an unknown policy, or PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_NULL. Ownership: `*out` is the caller's
// until prt_pipe_in_free(). Until then a thread under SCHED_OTHER transfers the lines.
int prt_pipe_in_open(const char *at,
                     size_t capacity,
                     int overflow,
                     struct prt_pipe_in **out);

// Opens a pipe to the shell; the arguments are those of prt_pipe_in_open(). While no program reads the FIFO, it holds
// up to 64 KiB of text, and further lines wait in the ring; when the ring is full, `overflow` applies.
int prt_pipe_out_open(const char *at,
                      size_t capacity,
                      int overflow,
                      struct prt_pipe_out **out);

// Takes the oldest line and copies it to the buffer `line`, without its newline and with a terminating NUL byte.
// `size` is the size of the buffer, at least PRT_LINE_LONGEST + 1.
//
// Threads: only one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for a smaller buffer; PRT_STATUS_NULL. `*length` receives the length of
// the line, which may contain NUL bytes; `length` may be NULL.
int prt_pipe_in_receive(const struct prt_pipe_in *pipe,
                        char *line,
                        size_t size,
                        size_t *length);

// Like prt_pipe_in_receive(), but sleeps until there is a line, at most until `until_ns` on CLOCK_MONOTONIC.
//
// Threads: only one, the receiver. Real-time: poll(2) and read(2) on an eventfd; blocks.
// Errors: as for prt_pipe_in_receive(), but PRT_STATUS_TIMED_OUT instead of PRT_STATUS_EMPTY.
int prt_pipe_in_receive_until(const struct prt_pipe_in *pipe,
                              uint64_t until_ns,
                              char *line,
                              size_t size,
                              size_t *length);

// Returns the eventfd that is readable when lines have arrived, for poll(2) together with other descriptors; −1 if
// `pipe` is NULL. To wait: call prt_pipe_in_clear(), then prt_pipe_in_receive() until the pipe is empty, then poll(2).
//
// Threads: any.
// Ownership: the descriptor belongs to the pipe; do not close it.
int prt_pipe_in_fd(const struct prt_pipe_in *pipe);

// Makes the eventfd unreadable until the next line arrives.
//
// Threads: the receiver. Real-time: read(2).
// Errors: PRT_STATUS_NULL.
int prt_pipe_in_clear(const struct prt_pipe_in *pipe);

// Queues the `length` bytes at `line`, which contain no newline, for the thread that writes to the FIFO.
//
// Threads: only one, the sender. Real-time: wait-free; write(2) to an eventfd if that thread sleeps. Errors:
// PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for more than PRT_LINE_LONGEST bytes, or a newline
// among them; PRT_STATUS_NULL.
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

// Closes the pipe, and removes its FIFO if prt_pipe_in_open() created it. NULL is ignored.
//
// Threads: any non-real-time thread, after the receiver has ended. Waits for the thread that transfers the lines.
void prt_pipe_in_free(struct prt_pipe_in *pipe);

// Closes the pipe: writes the remaining lines that fit, and removes its FIFO if prt_pipe_out_open() created it. NULL
// is ignored.
//
// Threads: any non-real-time thread, after the sender has ended. Waits for the thread that transfers the lines.
void prt_pipe_out_free(struct prt_pipe_out *pipe);

// Creates a queue that passes up to `capacity` values of `size` bytes in order from one thread to another. `overflow`
// is one of enum prt_overflow. The receiver is not woken: poll in every cycle.
//
// Threads: any non-real-time thread. Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a size or capacity of 0, a size
// beyond PRT_QUEUE_LARGEST, more than 1 GiB, an unknown policy, or PRT_OVERFLOW_DROP_OLDEST; PRT_STATUS_REFUSED if
// there is not enough memory or, if all memory is locked, RLIMIT_MEMLOCK does not allow it. Ownership: the ends are
// the caller's, each until its own …_free(), in any order.
int prt_queue_new(size_t size,
                  size_t capacity,
                  int overflow,
                  struct prt_sender **sender,
                  struct prt_receiver **receiver);

// Locks the queue's memory: mlock(2). Call it before the first value is sent, and before the real-time part.
//
// Threads: a non-real-time thread, before the sender starts.
// Errors: PRT_STATUS_REFUSED if RLIMIT_MEMLOCK does not allow it; PRT_STATUS_NULL.
int prt_sender_lock_memory(struct prt_sender *sender);

// Sends a copy of the `size` bytes at `value`; `size` must be the size given to prt_queue_new().
//
// Threads: only one, the sender. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_FULL with PRT_OVERFLOW_REFUSE; PRT_STATUS_INVALID for another size; PRT_STATUS_NULL.
int prt_send(struct prt_sender *sender,
             const void *value,
             size_t size);

// Takes the oldest value and copies its `size` bytes to `value`; `size` must be the size given to prt_queue_new().
//
// Threads: only one, the receiver. Real-time: wait-free, no system call.
// Errors: PRT_STATUS_EMPTY; PRT_STATUS_INVALID for another size; PRT_STATUS_NULL. In these cases no value is taken.
int prt_receive(struct prt_receiver *receiver,
                void *value,
                size_t size);

// Returns the number of waiting values; 0 if `receiver` is NULL.
//
// Threads: the receiver. Real-time.
size_t prt_waiting(const struct prt_receiver *receiver);

// Reads the counters of the queue through its writing end.
//
// Threads: the sender. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_sender_counts(const struct prt_sender *sender, struct prt_queue_counts *out);

// Reads the counters of the queue through its reading end.
//
// Threads: the receiver. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_receiver_counts(const struct prt_receiver *receiver, struct prt_queue_counts *out);

// Frees the writing end. Waiting values can still be taken. NULL is ignored.
//
// Threads: any non-real-time thread, after the sender has ended.
void prt_sender_free(struct prt_sender *sender);

// Frees the reading end. Values sent afterwards are never received. NULL is ignored.
//
// Threads: any non-real-time thread, after the receiver has ended.
void prt_receiver_free(struct prt_receiver *receiver);

// Checks whether the calling thread is granted this policy: sets it, and immediately restores the old one. For
// programs that can also run without it.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_REFUSED, with what to do about it; PRT_STATUS_INVALID for an unknown policy or priority, and for
// PRT_POLICY_DEADLINE (use prt_builder_check_deadline()).
int prt_try_scheduling(int policy,
                       int priority);

// Creates a semaphore with this count. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_semaphore_free().
struct prt_semaphore *prt_semaphore_new(uint32_t count);

// Frees the semaphore. No thread may be waiting for it or be inside prt_semaphore_post(), which may still be running
// when the thread that it woke continues. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_semaphore_free(struct prt_semaphore *semaphore);

// Raises the count by one and wakes one sleeper. Never blocks; makes no system call if no thread sleeps.
//
// Threads: any. Real-time: futex(2). Errors: PRT_STATUS_FULL if the count is 2^32 − 1, in which case it is not
// changed; PRT_STATUS_NULL.
int prt_semaphore_post(const struct prt_semaphore *semaphore);

// Lowers the count, sleeping until it is not 0. Neither a signal nor prt_stop() ends the wait.
//
// Threads: any. Real-time: no system call if the count is not 0, otherwise futex(2); blocks.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_wait(const struct prt_semaphore *semaphore);

// Like prt_semaphore_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the count is not 0, it is
// lowered even if that time has passed.
//
// Threads: any. Real-time; blocks.
// Errors: PRT_STATUS_TIMED_OUT, in which case the count is not lowered; PRT_STATUS_NULL.
int prt_semaphore_wait_until(const struct prt_semaphore *semaphore,
                             uint64_t until_ns);

// Lowers the count by one if it is not 0. Never blocks, makes no system call.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_EMPTY if it is 0; PRT_STATUS_NULL.
int prt_semaphore_try_wait(const struct prt_semaphore *semaphore);

// Reads the current count into `*count`.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL.
int prt_semaphore_count(const struct prt_semaphore *semaphore, uint32_t *count);

// Frees a source that was not given to prt_interrupt_start(). NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_source_free(struct prt_source *source);

// Creates a counter at 0: eventfd(2).
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_REFUSED if no descriptor or memory is left; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_eventfd_free().
int prt_eventfd_new(struct prt_eventfd **out);

// Adds `events`, and wakes the task; 0 wakes nobody. Blocks only if 2^64 − 2 events have not been received yet.
//
// Threads: any. Real-time: write(2).
// Errors: PRT_STATUS_INVALID for more than 2^32; PRT_STATUS_NULL.
int prt_eventfd_raise(const struct prt_eventfd *eventfd,
                      uint64_t events);

// Frees a counter. A source created from it remains valid. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_eventfd_free(struct prt_eventfd *eventfd);

// Creates a source from a counter. Several increments before a wakeup are one arrival with several events. The events
// have no time stamps.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_eventfd(const struct prt_eventfd *eventfd,
                       struct prt_source **out);

// Creates a timer that is not set. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's until prt_timer_free().
struct prt_timer *prt_timer_new(void);

// Sets the timer to expire at `first_ns`, or at once if that has passed, and then every `interval_ns` (0: only once).
// Replaces the previous setting; expirations that the task has not received are lost.
//
// Threads: any. Real-time: futex(2) if the task sleeps or is receiving an expiration.
// Errors: PRT_STATUS_OWNER_DIED if a thread ended while it set the timer; PRT_STATUS_NULL.
int prt_timer_set(const struct prt_timer *timer,
                  uint64_t first_ns,
                  uint64_t interval_ns);

// Disarms the timer.
//
// Threads: any. Real-time: as for prt_timer_set().
// Errors: as for prt_timer_set().
int prt_timer_cancel(const struct prt_timer *timer);

// Frees a timer. A task that waits for it is no longer woken. NULL is ignored.
//
// Threads: any non-real-time thread.
void prt_timer_free(struct prt_timer *timer);

// Creates a source from a timer. The time stamp of an event is the time at which the expiration was due.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_BUSY if the timer already has a source; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_timer(const struct prt_timer *timer,
                     struct prt_source **out);

// Creates a source from the interrupts of a UIO device, for example "/dev/uio0". The kernel masks an interrupt until
// the body has returned (Documentation/driver-api/uio-howto.rst). The events have no time stamps.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_REFUSED if the device cannot be opened; PRT_STATUS_INVALID if the path is not UTF-8;
// PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_uio(const char *path,
                   struct prt_source **out);

// Creates a source from the edges of line `offset` of a GPIO chip (device, name or label); `edges` is one of enum
// prt_edges. The kernel takes their time stamps in the hard interrupt. The value of an event is 1 for a rising edge, 0
// for a falling one.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_REFUSED if there is no such line, or it is in use; PRT_STATUS_INVALID for an unknown value of
// `edges`, or a name that is not UTF-8; PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
int prt_source_gpio(const char *chip,
                    uint32_t offset,
                    int edges,
                    struct prt_source **out);

// Creates a source from a function of the caller: `wait` is called in the task's thread with `data`.
//
// Threads: any non-real-time thread.
// Errors: PRT_STATUS_NULL.
// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free(); `data` is used until the task has
// ended.
int prt_source_custom(prt_wait wait,
                      void *data,
                      struct prt_source **out);

// Creates a builder without checks or memory locking. Never returns NULL.
//
// Threads: any non-real-time thread.
// Ownership: the caller's, until prt_start() or prt_builder_free().
struct prt_builder *prt_builder_new(void);

// Frees the builder of a program that is not started. NULL is ignored.
void prt_builder_free(struct prt_builder *builder);

// Requests that prt_start() locks all memory of the program, present and future: mlockall(2), mallopt(3).
//
// Errors: PRT_STATUS_NULL.
int prt_builder_lock_memory(struct prt_builder *builder);

// Sets how many bytes of each task's stack are written before its first release. The default is 256 KiB.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID above 1 GiB.
int prt_builder_prefault_stack(struct prt_builder *builder,
                               size_t bytes);

// Requests that no warnings are printed. Otherwise prt_start() prints a line on standard error for each wanted check
// that failed or could not be made.
//
// Errors: PRT_STATUS_NULL.
int prt_builder_silence_warnings(struct prt_builder *builder);

// Requests a check: `kind` is one of enum prt_check, `argument` its argument or 0, `severity` one of enum
// prt_severity.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for an unknown check or severity, or an argument out of range.
int prt_builder_check(struct prt_builder *builder,
                      int kind,
                      uint64_t argument,
                      int severity);

// Requests a check that this SCHED_DEADLINE reservation is granted. It is set for the check, and the previous
// scheduling is restored.
//
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for an unknown severity.
int prt_builder_check_deadline(struct prt_builder *builder,
                               uint64_t runtime_ns,
                               uint64_t deadline_ns,
                               uint64_t period_ns,
                               int severity);

// Runs the checks, locks memory, and sets the epoch of all tasks to the current time. Installs an empty handler for
// SIGURG, which wakes sleeping tasks.
//
// Threads: any non-real-time thread, once per program.
// Errors: PRT_STATUS_NOT_READY with the whole report if a required check failed; PRT_STATUS_REFUSED if memory cannot
// be locked; PRT_STATUS_NULL.
// Ownership: `builder` is freed in any case; `*out` is the caller's until prt_free().
int prt_start(struct prt_builder *builder,
              struct prt **out);

// Returns the results of the checks, one per line: "ok", "FAILED" or "unknown", what was found, and what to do. NULL
// if `rt` is NULL.
//
// Threads: any.
// Ownership: the string belongs to `rt` and is valid until prt_free().
const char *prt_report(const struct prt *rt);

// Returns true if all checks passed; false if `rt` is NULL.
//
// Threads: any.
bool prt_passed(const struct prt *rt);

// Returns the epoch, the instant on CLOCK_MONOTONIC from which the releases of all tasks are counted, ns; 0 if `rt` is
// NULL.
//
// Threads: any. Real-time.
uint64_t prt_epoch_ns(const struct prt *rt);

// Blocks SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup(1)) in the calling thread and in the threads that it
// starts, so that prt_until_signal() receives them. Call it at the start of main().
//
// Errors: none on Linux.
int prt_block_signals(void);

// Sleeps until SIGINT, SIGTERM or SIGHUP arrives, then calls prt_stop().
//
// Threads: a non-real-time thread, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_until_signal(const struct prt *rt);

// Like prt_until_signal(), but waits at most until `until_ns` on CLOCK_MONOTONIC. It then returns
// PRT_STATUS_TIMED_OUT, and the tasks continue.
//
// Threads: any non-real-time thread, not a task's. Blocks. Errors: as for prt_until_signal(); PRT_STATUS_TIMED_OUT.
int prt_until_signal_or(const struct prt *rt,
                        uint64_t until_ns);

// Stops every task and waits until each body has returned. Statistics remain available from their handles.
//
// Threads: any non-real-time thread, not a task's. Blocks.
// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
int prt_stop(const struct prt *rt);

// Stops every task like prt_stop(), and frees `rt`. The tasks' handles remain the caller's. NULL is ignored.
//
// Threads: any non-real-time thread, not a task's. Blocks.
// Errors: PRT_STATUS_DEADLOCK from a task's body; in this case nothing is freed.
int prt_free(struct prt *rt);

// Reads a task's statistics, without stopping or slowing it: reads its counters and a few files of proc(5). Also works
// after its end.
//
// Threads: any non-real-time thread. Waits while another thread stops this task.
// Errors: PRT_STATUS_NULL.
int prt_task_stats(const struct prt_task *task,
                   struct prt_stats *out);

// Stores the quantile `q` (0 to 1) of one of enum prt_measure in `*out`, ns, by nearest rank. The error is at most 1
// %; the minimum and the maximum are exact.
//
// Threads: as for prt_task_stats().
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for a measure or `q` out of range; PRT_STATUS_EMPTY if there is no
// sample yet.
int prt_task_quantile(const struct prt_task *task,
                      int measure,
                      double q,
                      uint64_t *out);

// Returns the text of the calling thread's last failed call: what failed, on what, why, and what to do. Empty, and
// never NULL, if no call has failed.
//
// Threads: any; each has its own text. Real-time.
// Ownership: the text belongs to the library and is valid until the calling thread's next failed call, or its end.
const char *prt_last_error(void);

// Returns the name of a status, such as "timed out"; "unknown status" for any other number.
//
// Threads: any. Real-time.
// Ownership: the text belongs to the library and is always valid.
const char *prt_status_name(int32_t status);

// Returns the library's version, such as "0.1.0".
//
// Threads: any. Real-time.
// Ownership: the text belongs to the library and is always valid.
const char *prt_version(void);

// Sets `*options` to the defaults for a task `name` with `policy` and `priority` every `period_ns`: PRT_MISS_SKIP, on
// any CPU, without end.
//
// Threads: any. Real-time.
// Errors: PRT_STATUS_NULL. prt_task_start() detects values out of range.
// Ownership: only the pointer `name` is stored; prt_task_start() copies the text.
int prt_task_options_init(struct prt_task_options *options,
                          const char *name,
                          int policy,
                          int priority,
                          uint64_t period_ns);

// Starts a task. Its thread first locks its memory and sets its CPU affinity and policy. The first release is at least
// a millisecond later.
//
// Threads: any non-real-time thread. `body` is called in the task's thread with `data`, until the task has ended.
// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses the
// policy, the CPU or the thread. In these cases nothing is started.
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
