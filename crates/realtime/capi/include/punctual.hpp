/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C++17: header only, based on punctual_rt.h, whose comments tell which threads may call a function.
 *
 * - Handles are owned (RAII) and can be moved, not copied.
 * - Times are std::chrono: durations in nanoseconds, points of punctual::clock, which is CLOCK_MONOTONIC.
 * - Set-up functions throw punctual::error. Functions for real-time threads are noexcept and return a status.
 * - Bodies of tasks are lambdas that are stored once, when the task starts; they must be noexcept, which is checked at
 *   compile time. */

#ifndef PUNCTUAL_HPP
#define PUNCTUAL_HPP

#include <punctual_rt.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace punctual {

using nanoseconds = std::chrono::nanoseconds;

/// CLOCK_MONOTONIC. One call in the vDSO, no system call on ordinary machines.
struct clock {
    using duration = nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept { return at(prt_now_ns()); }
    static constexpr time_point at(std::uint64_t ns) noexcept { return time_point(nanoseconds(static_cast<rep>(ns))); }
};

using time_point = clock::time_point;

enum class status {
    ok = PRT_STATUS_OK,
    null = PRT_STATUS_NULL,
    invalid = PRT_STATUS_INVALID,
    not_ready = PRT_STATUS_NOT_READY,
    refused = PRT_STATUS_REFUSED,
    empty = PRT_STATUS_EMPTY,
    full = PRT_STATUS_FULL,
    timed_out = PRT_STATUS_TIMED_OUT,
    busy = PRT_STATUS_BUSY,
    deadlock = PRT_STATUS_DEADLOCK,
    owner_died = PRT_STATUS_OWNER_DIED,
    panic = PRT_STATUS_PANIC,
};

enum class policy { other = PRT_POLICY_OTHER, fifo = PRT_POLICY_FIFO, rr = PRT_POLICY_RR, deadline = PRT_POLICY_DEADLINE };
enum class miss { skip = PRT_MISS_SKIP, catch_up = PRT_MISS_CATCH_UP, stop = PRT_MISS_STOP, safe_state = PRT_MISS_SAFE_STATE };
enum class next { keep_going = PRT_NEXT_CONTINUE, stop = PRT_NEXT_STOP };
enum class end {
    returned = PRT_END_RETURNED,
    stopped = PRT_END_STOPPED,
    cycles = PRT_END_CYCLES,
    missed = PRT_END_MISSED,
    failed = PRT_END_FAILED,
};
enum class measure { lateness = PRT_MEASURE_LATENESS, execution = PRT_MEASURE_EXECUTION };
enum class overflow { refuse = PRT_OVERFLOW_REFUSE, drop_newest = PRT_OVERFLOW_DROP_NEWEST };
enum class match { any = PRT_MATCH_ANY, all = PRT_MATCH_ALL };
enum class severity { wanted = PRT_SEVERITY_WANTED, required = PRT_SEVERITY_REQUIRED };
enum class check {
    preempt_rt = PRT_CHECK_PREEMPT_RT,
    priority = PRT_CHECK_PRIORITY,
    locked_memory = PRT_CHECK_LOCKED_MEMORY,
    high_resolution_timers = PRT_CHECK_HIGH_RESOLUTION_TIMERS,
    fast_clock = PRT_CHECK_FAST_CLOCK,
    no_throttling = PRT_CHECK_NO_THROTTLING,
    foreign_rt_above = PRT_CHECK_FOREIGN_RT_ABOVE,
    no_rt_time_limit = PRT_CHECK_NO_RT_TIME_LIMIT,
    isolated = PRT_CHECK_ISOLATED,
    fixed_frequency = PRT_CHECK_FIXED_FREQUENCY,
};

/// A set-up call failed: the operation, its object, the cause, and a remedy.
class error : public std::exception {
public:
    explicit error(status code) : code_(code), text_(prt_last_error()) {}
    status code() const noexcept { return code_; }
    const char *what() const noexcept override { return text_.c_str(); }

private:
    status code_;
    std::string text_;
};

namespace detail {

inline status of(int code) noexcept { return static_cast<status>(code); }

inline void must(int code)
{
    if (code != PRT_STATUS_OK)
        throw error(of(code));
}

inline std::uint64_t ns(nanoseconds time) noexcept
{
    return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

inline std::uint64_t ns(time_point time) noexcept { return ns(time.time_since_epoch()); }

/// Frees a handle with its function of punctual_rt.h.
template <auto Free> struct freed {
    template <class T> void operator()(T *handle) const noexcept { (void)Free(handle); }
};

template <class T, auto Free> using handle = std::unique_ptr<T, freed<Free>>;

} // namespace detail

/// Sleeps until `until`. Real-time: clock_nanosleep(2).
inline status sleep_until(time_point until) noexcept { return detail::of(prt_sleep_until(detail::ns(until))); }

/// Returns true if the calling thread is granted this policy; sets the policy and restores the previous one.
inline bool is_granted(policy policy, int priority) noexcept
{
    return prt_try_scheduling(static_cast<int>(policy), priority) == PRT_STATUS_OK;
}

/// One release of a task, passed to its body.
class cycle {
public:
    explicit cycle(const prt_cycle &of) noexcept : of_(of) {}
    /// Counts from 0, including skipped releases.
    std::uint64_t index() const noexcept { return of_.index; }
    time_point scheduled() const noexcept { return clock::at(of_.scheduled_ns); }
    time_point woke() const noexcept { return clock::at(of_.woke_ns); }
    nanoseconds lateness() const noexcept { return woke() - scheduled(); }
    /// Number of releases skipped between this one and the next that will run.
    std::uint64_t skipped() const noexcept { return of_.skipped; }
    std::uint64_t pending() const noexcept { return of_.pending; }
    std::uint64_t overruns() const noexcept { return of_.overruns; }

private:
    const prt_cycle &of_;
};

/// Options of a task: punctual_rt.h, struct prt_task_options. Each function sets one and returns the options.
class options {
public:
    options(std::string name, policy policy, int priority, nanoseconds period) : name_(std::move(name))
    {
        prt_task_options_init(&raw_, nullptr, static_cast<int>(policy), priority, detail::ns(period));
    }
    /// SCHED_DEADLINE: `runtime` in each period, to be finished by `deadline`; zero means the period.
    static options deadline(std::string name, nanoseconds runtime, nanoseconds period, nanoseconds deadline = {})
    {
        options made(std::move(name), policy::deadline, 0, period);
        made.raw_.runtime_ns = detail::ns(runtime);
        made.raw_.deadline_ns = detail::ns(deadline);
        return made;
    }
    options &on_cpu(int cpu) noexcept { return set(raw_.cpu, cpu); }
    options &on_miss(miss what) noexcept { return set(raw_.miss, static_cast<int>(what)); }
    options &catch_up(std::uint64_t at_most) noexcept
    {
        raw_.catch_up_at_most = at_most;
        return on_miss(miss::catch_up);
    }
    options &relative_deadline(nanoseconds deadline) noexcept { return set(raw_.deadline_ns, detail::ns(deadline)); }
    options &offset(nanoseconds offset) noexcept { return set(raw_.offset_ns, detail::ns(offset)); }
    options &cycles(std::uint64_t cycles) noexcept { return set(raw_.cycles, cycles); }
    options &without_execution(bool without = true) noexcept { return set(raw_.without_execution, without); }
    options &reclaim(bool reclaim = true) noexcept { return set(raw_.reclaim, reclaim); }
    /// Access to the other options. The name is taken from this object.
    prt_task_options &raw() noexcept { return raw_; }

private:
    friend class runtime;
    template <class T, class V> options &set(T &member, V value) noexcept
    {
        member = value;
        return *this;
    }
    prt_task_options raw_;
    std::string name_;
};

/// A started task. It is stopped and joined when its handle is destroyed.
class task {
public:
    prt_stats stats() const
    {
        prt_stats now;
        detail::must(prt_task_stats(handle_.get(), &now));
        return now;
    }
    /// `q` from 0 to 1. Throws without samples.
    nanoseconds quantile(measure of, double q) const
    {
        std::uint64_t ns = 0;
        detail::must(prt_task_quantile(handle_.get(), static_cast<int>(of), q, &ns));
        return nanoseconds(static_cast<nanoseconds::rep>(ns));
    }
    /// Why the memory is not locked; empty if it is.
    std::string not_resident() const { return prt_task_not_resident(handle_.get()); }
    end stop() { return ended(prt_task_stop); }
    end join() { return ended(prt_task_join); }

private:
    friend class runtime;
    struct body {
        virtual ~body() = default;
    };
    template <class F> struct body_of : body {
        explicit body_of(F function) : function(std::move(function)) {}
        F function;
    };
    struct ends {
        void operator()(prt_task *task) const noexcept
        {
            (void)prt_task_stop(task, nullptr);
            (void)prt_task_free(task);
        }
    };
    task(prt_task *handle, std::unique_ptr<body> main, std::unique_ptr<body> safe)
        : main_(std::move(main)), safe_(std::move(safe)), handle_(handle)
    {
    }
    end ended(int (*how)(const prt_task *, int *)) const
    {
        int code = 0;
        detail::must(how(handle_.get(), &code));
        return static_cast<end>(code);
    }
    /// Calls a body of type `F`: void is next::keep_going.
    template <class F> static int call(const prt_cycle *raw, void *data) noexcept
    {
        auto &function = static_cast<body_of<F> *>(static_cast<body *>(data))->function;
        const cycle now(*raw);
        if constexpr (std::is_void_v<std::invoke_result_t<F &, const cycle &>>) {
            function(now);
            return PRT_NEXT_CONTINUE;
        } else {
            return static_cast<int>(function(now));
        }
    }
    // The bodies outlive the thread that calls them: members are destroyed in reverse order.
    std::unique_ptr<body> main_, safe_;
    std::unique_ptr<prt_task, ends> handle_;
};

/// A started real-time program.
class runtime {
public:
    /// Starts a task whose body is `void(const cycle &)` or `next(const cycle &)`, and noexcept: an exception that left it would end
    /// the program. It runs in a new thread until the task has ended; objects that it refers to must live as long.
    template <class F> task start(options options, F body) { return begin(options, std::move(body), no_safe_state{}); }
    /// Like start(); for a late release `safe_state` runs instead of the body.
    template <class F, class S> task start(options options, F body, S safe_state)
    {
        return begin(options.on_miss(miss::safe_state), std::move(body), std::move(safe_state));
    }
    /// Results of the checks, one per line.
    std::string report() const { return prt_report(handle_.get()); }
    bool passed() const noexcept { return prt_passed(handle_.get()); }
    time_point epoch() const noexcept { return clock::at(prt_epoch_ns(handle_.get())); }
    /// Sleeps until SIGINT, SIGTERM or SIGHUP, then stops all tasks. Call block_signals() before.
    void until_signal() const { detail::must(prt_until_signal(handle_.get())); }
    void stop() const { detail::must(prt_stop(handle_.get())); }

private:
    friend class builder;
    struct no_safe_state {};
    explicit runtime(prt *handle) : handle_(handle) {}
    template <class F> static std::unique_ptr<task::body> keep(F function)
    {
        static_assert(std::is_nothrow_invocable_v<F &, const cycle &>,
                      "the body of a task is called as body(const punctual::cycle &) and has to be noexcept");
        return std::make_unique<task::body_of<F>>(std::move(function));
    }
    template <class F, class S> task begin(options options, F body, S safe_state)
    {
        auto main = keep(std::move(body));
        std::unique_ptr<task::body> safe;
        auto &raw = options.raw_;
        raw.name = options.name_.c_str();
        if constexpr (!std::is_same_v<S, no_safe_state>) {
            safe = keep(std::move(safe_state));
            raw.safe_state = task::call<S>;
            raw.safe_state_data = safe.get();
        }
        prt_task *started = nullptr;
        detail::must(prt_task_start(handle_.get(), &raw, task::call<F>, main.get(), &started));
        return task(started, std::move(main), std::move(safe));
    }
    detail::handle<prt, prt_free> handle_;
};

/// Requirements on the machine, checked before a program starts.
class builder {
public:
    builder() : handle_(prt_builder_new()) {}
    builder &lock_memory() { return did(prt_builder_lock_memory(handle_.get())); }
    builder &prefault_stack(std::size_t bytes) { return did(prt_builder_prefault_stack(handle_.get(), bytes)); }
    builder &want(check what, std::uint64_t argument = 0) { return add(what, argument, severity::wanted); }
    builder &require(check what, std::uint64_t argument = 0) { return add(what, argument, severity::required); }
    /// Runs the checks and locks memory.
    runtime start()
    {
        prt *started = nullptr;
        detail::must(prt_start(handle_.release(), &started));
        return runtime(started);
    }

private:
    builder &add(check what, std::uint64_t argument, severity severity)
    {
        return did(prt_builder_check(handle_.get(), static_cast<int>(what), argument, static_cast<int>(severity)));
    }
    builder &did(int code)
    {
        detail::must(code);
        return *this;
    }
    detail::handle<prt_builder, prt_builder_free> handle_;
};

/// Blocks SIGINT, SIGTERM and SIGHUP, for runtime::until_signal(): at the start of main().
inline void block_signals() { detail::must(prt_block_signals()); }

/// A mutex with priority inheritance; meets Lockable, so std::lock_guard and std::unique_lock take it. lock() fails only if the
/// thread already holds it or its owner died, which guard distinguishes.
class mutex {
public:
    mutex() : handle_(prt_mutex_new()) {}
    status lock() noexcept { return detail::of(prt_mutex_lock(handle_.get())); }
    bool try_lock() noexcept { return prt_mutex_try_lock(handle_.get()) == PRT_STATUS_OK; }
    status lock_until(time_point until) noexcept { return detail::of(prt_mutex_lock_until(handle_.get(), detail::ns(until))); }
    status unlock() noexcept { return detail::of(prt_mutex_unlock(handle_.get())); }
    bool is_mine() const noexcept { return prt_mutex_is_mine(handle_.get()); }

private:
    friend class condition;
    detail::handle<prt_mutex, prt_mutex_free> handle_;
};

/// Holds a mutex during its lifetime, if it converts to true.
class guard {
public:
    explicit guard(mutex &of) noexcept : of_(of), code_(of.lock()) {}
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    ~guard()
    {
        if (*this)
            (void)of_.unlock();
    }
    /// The mutex is held. After status::owner_died it is held too, but the protected data are in an unknown state.
    explicit operator bool() const noexcept { return code_ == status::ok || code_ == status::owner_died; }
    status code() const noexcept { return code_; }

private:
    mutex &of_;
    status code_;
};

/// Wait in a loop: a wait can end without a notification. The caller holds the mutex before and after.
class condition {
public:
    condition() : handle_(prt_cond_new()) {}
    status wait(mutex &held) noexcept { return detail::of(prt_cond_wait(handle_.get(), held.handle_.get())); }
    status wait_until(mutex &held, time_point until) noexcept
    {
        return detail::of(prt_cond_wait_until(handle_.get(), held.handle_.get(), detail::ns(until)));
    }
    status notify_one(mutex &held) noexcept { return detail::of(prt_cond_notify_one(handle_.get(), held.handle_.get())); }
    status notify_all(mutex &held) noexcept { return detail::of(prt_cond_notify_all(handle_.get(), held.handle_.get())); }

private:
    detail::handle<prt_cond, prt_cond_free> handle_;
};

class semaphore {
public:
    explicit semaphore(std::uint32_t count = 0) : handle_(prt_semaphore_new(count)) {}
    status post() noexcept { return detail::of(prt_semaphore_post(handle_.get())); }
    status wait() noexcept { return detail::of(prt_semaphore_wait(handle_.get())); }
    status wait_until(time_point until) noexcept { return detail::of(prt_semaphore_wait_until(handle_.get(), detail::ns(until))); }
    bool try_wait() noexcept { return prt_semaphore_try_wait(handle_.get()) == PRT_STATUS_OK; }
    std::uint32_t count() const noexcept
    {
        std::uint32_t now = 0;
        (void)prt_semaphore_count(handle_.get(), &now);
        return now;
    }

private:
    detail::handle<prt_semaphore, prt_semaphore_free> handle_;
};

/// 32 event flags. wait() leaves them, take() clears those of the mask.
class flags {
public:
    explicit flags(std::uint32_t set = 0) : handle_(prt_flags_new(set)) {}
    status set(std::uint32_t mask) noexcept { return detail::of(prt_flags_set(handle_.get(), mask)); }
    /// Returns the previous flags.
    std::uint32_t clear(std::uint32_t mask) noexcept { return out([&](auto *were) { return prt_flags_clear(handle_.get(), mask, were); }).second; }
    std::uint32_t get() const noexcept { return out([&](auto *set) { return prt_flags_get(handle_.get(), set); }).second; }
    using found = std::pair<status, std::uint32_t>;
    found wait(std::uint32_t mask, match how = match::any) noexcept { return asked(prt_flags_wait, mask, how); }
    found take(std::uint32_t mask, match how = match::any) noexcept { return asked(prt_flags_take, mask, how); }
    found try_wait(std::uint32_t mask, match how = match::any) noexcept { return asked(prt_flags_try_wait, mask, how); }
    found try_take(std::uint32_t mask, match how = match::any) noexcept { return asked(prt_flags_try_take, mask, how); }
    found wait_until(time_point until, std::uint32_t mask, match how = match::any) noexcept
    {
        return out([&](auto *set) { return prt_flags_wait_until(handle_.get(), mask, static_cast<int>(how), detail::ns(until), set); });
    }
    found take_until(time_point until, std::uint32_t mask, match how = match::any) noexcept
    {
        return out([&](auto *set) { return prt_flags_take_until(handle_.get(), mask, static_cast<int>(how), detail::ns(until), set); });
    }

private:
    template <class F> static found out(F function) noexcept
    {
        std::uint32_t set = 0;
        const auto code = detail::of(function(&set));
        return {code, set};
    }
    template <class F> found asked(F function, std::uint32_t mask, match how) noexcept
    {
        return out([&](auto *set) { return function(handle_.get(), mask, static_cast<int>(how), set); });
    }
    detail::handle<prt_flags, prt_flags_free> handle_;
};

template <class T> class sender;
template <class T> class receiver;

/// A bounded queue from one thread to another: `auto [to, from] = punctual::queue<sample>(64)`. `T` is copied byte by byte. The
/// receiver is not woken: poll in every cycle.
template <class T>
std::pair<sender<T>, receiver<T>> queue(std::size_t capacity, overflow when_full = overflow::refuse)
{
    static_assert(std::is_trivially_copyable_v<T>, "values of a queue are copied byte by byte");
    static_assert(sizeof(T) <= PRT_QUEUE_LARGEST, "send an index or a pointer to values that large");
    prt_sender *to = nullptr;
    prt_receiver *from = nullptr;
    detail::must(prt_queue_new(sizeof(T), capacity, static_cast<int>(when_full), &to, &from));
    return {sender<T>(to), receiver<T>(from)};
}

/// The writing end, for one thread.
template <class T> class sender {
public:
    /// Makes the queue's memory resident. Call it before the first value and before the real-time phase.
    void lock_memory() { detail::must(prt_sender_lock_memory(handle_.get())); }
    status send(const T &value) noexcept { return detail::of(prt_send(handle_.get(), &value, sizeof value)); }
    prt_queue_counts counts() const noexcept
    {
        prt_queue_counts now{};
        (void)prt_sender_counts(handle_.get(), &now);
        return now;
    }

private:
    friend std::pair<sender<T>, receiver<T>> queue<T>(std::size_t, overflow);
    explicit sender(prt_sender *handle) : handle_(handle) {}
    detail::handle<prt_sender, prt_sender_free> handle_;
};

/// The reading end, for one thread.
template <class T> class receiver {
public:
    /// Returns the oldest value, if any.
    bool receive(T &value) noexcept { return prt_receive(handle_.get(), &value, sizeof value) == PRT_STATUS_OK; }
    std::size_t waiting() const noexcept { return prt_waiting(handle_.get()); }
    prt_queue_counts counts() const noexcept
    {
        prt_queue_counts now{};
        (void)prt_receiver_counts(handle_.get(), &now);
        return now;
    }

private:
    friend std::pair<sender<T>, receiver<T>> queue<T>(std::size_t, overflow);
    explicit receiver(prt_receiver *handle) : handle_(handle) {}
    detail::handle<prt_receiver, prt_receiver_free> handle_;
};

/// Receives lines from the shell in a real-time thread.
class pipe_in {
public:
    explicit pipe_in(const std::string &at, std::size_t capacity = 64, overflow when_full = overflow::refuse)
        : handle_(open(prt_pipe_in_open, at, capacity, when_full))
    {
    }
    /// Receives a line without its newline. `view` refers to memory in this object and is valid until the next call.
    status receive(std::string_view &view) noexcept
    {
        return took(view, [&](std::size_t *length) { return prt_pipe_in_receive(handle_.get(), line_, sizeof line_, length); });
    }
    status receive_until(time_point until, std::string_view &view) noexcept
    {
        return took(view, [&](std::size_t *length) {
            return prt_pipe_in_receive_until(handle_.get(), detail::ns(until), line_, sizeof line_, length);
        });
    }
    /// Readable when lines have arrived, for poll(2); clear() before receive().
    int fd() const noexcept { return prt_pipe_in_fd(handle_.get()); }
    status clear() noexcept { return detail::of(prt_pipe_in_clear(handle_.get())); }
    prt_pipe_counts counts() const noexcept
    {
        prt_pipe_counts now{};
        (void)prt_pipe_in_counts(handle_.get(), &now);
        return now;
    }

private:
    friend class pipe_out;
    template <class T>
    static T *open(int (*how)(const char *, std::size_t, int, T **), const std::string &at, std::size_t capacity, overflow when_full)
    {
        T *opened = nullptr;
        detail::must(how(at.c_str(), capacity, static_cast<int>(when_full), &opened));
        return opened;
    }
    template <class F> status took(std::string_view &view, F function) noexcept
    {
        std::size_t length = 0;
        const auto code = detail::of(function(&length));
        view = std::string_view(line_, code == status::ok ? length : 0);
        return code;
    }
    detail::handle<prt_pipe_in, prt_pipe_in_free> handle_;
    char line_[PRT_LINE_LONGEST + 1];
};

/// Sends lines from a real-time thread to the shell.
class pipe_out {
public:
    explicit pipe_out(const std::string &at, std::size_t capacity = 64, overflow when_full = overflow::refuse)
        : handle_(pipe_in::open(prt_pipe_out_open, at, capacity, when_full))
    {
    }
    status send(std::string_view line) noexcept { return detail::of(prt_pipe_out_send(handle_.get(), line.data(), line.size())); }
    prt_pipe_counts counts() const noexcept
    {
        prt_pipe_counts now{};
        (void)prt_pipe_out_counts(handle_.get(), &now);
        return now;
    }

private:
    detail::handle<prt_pipe_out, prt_pipe_out_free> handle_;
};

/// Up to PRT_ALARMS_MOST actions, each at an absolute time after a common epoch.
class alarms {
public:
    alarms() : handle_(prt_alarms_new()) {}
    alarms &add(nanoseconds after, std::int64_t action)
    {
        detail::must(prt_alarms_add(handle_.get(), detail::ns(after), action));
        return *this;
    }
    void clear() { detail::must(prt_alarms_clear(handle_.get())); }
    struct rung {
        std::int64_t action;
        time_point due, woke;
    };
    /// Calls `action(const rung &)`, which is noexcept and returns void or next, for each alarm in turn; `done` receives their number.
    template <class F> status run(time_point epoch, F action, std::size_t *done = nullptr) noexcept
    {
        static_assert(std::is_nothrow_invocable_v<F &, const rung &>, "the action of an alarm has to be noexcept");
        return detail::of(prt_alarms_run(handle_.get(), detail::ns(epoch), call<F>, &action, done));
    }
    status stop() noexcept { return detail::of(prt_alarms_stop(handle_.get())); }

private:
    template <class F> static int call(const prt_rung *raw, void *data) noexcept
    {
        const rung now{raw->action, clock::at(raw->due_ns), clock::at(raw->woke_ns)};
        if constexpr (std::is_void_v<std::invoke_result_t<F &, const rung &>>) {
            (*static_cast<F *>(data))(now);
            return PRT_NEXT_CONTINUE;
        } else {
            return static_cast<int>((*static_cast<F *>(data))(now));
        }
    }
    detail::handle<prt_alarms, prt_alarms_free> handle_;
};

} // namespace punctual

#endif // PUNCTUAL_HPP
