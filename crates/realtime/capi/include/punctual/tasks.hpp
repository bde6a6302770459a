/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Tasks, and the real-time program to which they belong. Part of punctual.hpp. */

#ifndef PUNCTUAL_TASKS_HPP
#define PUNCTUAL_TASKS_HPP

#include <punctual/base.hpp>
#include <punctual/events.hpp>

#include <cstdio>

namespace punctual {

/// One release of a task, as passed to its body.
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
    /// SCHED_DEADLINE: `runtime` in each period, to be finished by `deadline`. A zero deadline means the period.
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
    /// Access to the other options. The name is stored in this object.
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

/// An event, as passed to the body of an interrupt task.
class interrupt {
public:
    explicit interrupt(const prt_interrupt &of) noexcept : of_(of) {}
    /// Counts from 0, including coalesced and lost events.
    std::uint64_t sequence() const noexcept { return of_.sequence; }
    /// When the kernel recorded the event; clock::at(0) if its source has no time stamps.
    time_point at() const noexcept { return clock::at(of_.at_ns); }
    time_point woke() const noexcept { return clock::at(of_.woke_ns); }
    std::uint64_t coalesced() const noexcept { return of_.coalesced; }
    std::uint64_t lost() const noexcept { return of_.lost; }
    std::uint64_t value() const noexcept { return of_.value; }

private:
    const prt_interrupt &of_;
};

/// Options of an interrupt task: punctual_rt.h, struct prt_interrupt_options.
class interrupt_options {
public:
    interrupt_options(std::string name, policy policy, int priority) : name_(std::move(name))
    {
        prt_interrupt_options_init(&raw_, nullptr, static_cast<int>(policy), priority);
    }
    interrupt_options &on_cpu(int cpu) noexcept
    {
        raw_.cpu = cpu;
        return *this;
    }

private:
    friend class runtime;
    prt_interrupt_options raw_;
    std::string name_;
};

/// A started task. Destroying the handle, or assigning to it, stops the task and joins its thread. This must not happen
/// in the body of a task, not even another one: it ends the program with std::terminate(), as std::thread does.
class task {
public:
    prt_stats stats() const
    {
        prt_stats now;
        detail::must(prt_task_stats(handle_.get(), &now));
        return now;
    }
    /// `q` is from 0 to 1. Throws if there are no samples.
    nanoseconds quantile(measure of, double q) const
    {
        std::uint64_t ns = 0;
        detail::must(prt_task_quantile(handle_.get(), static_cast<int>(of), q, &ns));
        return nanoseconds(static_cast<nanoseconds::rep>(ns));
    }
    /// Counts of events, for an interrupt task. Throws for a periodic one.
    prt_interrupt_counts events() const
    {
        prt_interrupt_counts now;
        detail::must(prt_interrupt_get_counts(handle_.get(), &now));
        return now;
    }
    /// Why the task's memory is not locked; empty if it is.
    std::string not_resident() const { return detail::text(prt_task_not_resident(handle_.get())); }
    end stop() { return ended(prt_task_stop); }
    end join() { return ended(prt_task_join); }

private:
    friend class runtime;
    using kept = std::unique_ptr<detail::callable>;
    /// Ends the task. The bodies, and a custom source, must outlive the thread that calls them; std::unique_ptr calls
    /// its deleter before it replaces or destroys the pointer.
    struct ends {
        void operator()(prt_task *task) const noexcept
        {
            if (prt_task_free(task) == PRT_STATUS_OK)
                return;
            std::fprintf(stderr, "the handle of a task was destroyed: %s\n", prt_last_error());
            std::terminate();
        }
        kept main, other;
    };
    task(prt_task *handle, kept main, kept other) : handle_(handle, ends{std::move(main), std::move(other)}) {}
    end ended(int (*how)(const prt_task *, int *)) const
    {
        int code = 0;
        detail::must(how(handle_.get(), &code));
        return static_cast<end>(code);
    }
    /// Calls a body of type `F`. `Now` is the C++ view of the C structure `Raw`.
    template <class F, class Now, class Raw> static int call(const Raw *raw, void *data) noexcept
    {
        return detail::result_of(detail::behind<F>(data), Now(*raw));
    }
    std::unique_ptr<prt_task, ends> handle_;
};

/// A started real-time program.
class runtime {
public:
    /// Starts a task. Its body is `void(const cycle &)` or `next(const cycle &)`, and noexcept, because an exception
    /// that left it would end the program. It runs in a new thread until the task has ended, and objects that it refers
    /// to must live as long.
    template <class F> task start(options options, F body) { return begin(options, std::move(body), no_safe_state{}); }
    /// Like start(), but for a late release `safe_state` runs instead of the body.
    template <class F, class S> task start(options options, F body, S safe_state)
    {
        return begin(options.on_miss(miss::safe_state), std::move(body), std::move(safe_state));
    }
    /// Starts a task whose body runs at every event of `from`. The body is `void(const interrupt &)` or `next(const
    /// interrupt &)`, and noexcept.
    template <class F> task start(interrupt_options options, source from, F body)
    {
        auto main = keep<interrupt>(std::move(body));
        options.raw_.name = detail::c_text(options.name_);
        prt_task *started = nullptr;
        detail::must(prt_interrupt_start(handle_.get(), &options.raw_, from.handle_.release(), task::call<F, interrupt, prt_interrupt>,
                                         main.get(), &started));
        return task(started, std::move(main), std::move(from.kept_));
    }
    /// Results of the checks, one per line.
    std::string report() const { return detail::text(prt_report(handle_.get())); }
    bool passed() const noexcept { return prt_passed(handle_.get()); }
    time_point epoch() const noexcept { return clock::at(prt_epoch_ns(handle_.get())); }
    /// Sleeps until SIGINT, SIGTERM or SIGHUP, then stops all tasks. Call block_signals() first.
    void until_signal() const { detail::must(prt_until_signal(handle_.get())); }
    /// Like until_signal(), but waits at most until `until`. Returns true if a signal arrived; all tasks are then
    /// stopped.
    bool until_signal_or(time_point until) const
    {
        const int code = prt_until_signal_or(handle_.get(), detail::ns(until));
        if (code != PRT_STATUS_TIMED_OUT)
            detail::must(code);
        return code == PRT_STATUS_OK;
    }
    void stop() const { detail::must(prt_stop(handle_.get())); }

private:
    friend class builder;
    struct no_safe_state {};
    explicit runtime(prt *handle) : handle_(handle) {}
    /// `Now` is cycle or interrupt.
    template <class Now, class F> static task::kept keep(F function)
    {
        static_assert(std::is_nothrow_invocable_v<F &, const Now &>,
                      "the body of a task is called as body(const punctual::cycle &), that of an interrupt task as body(const "
                      "punctual::interrupt &), and has to be noexcept");
        return std::make_unique<detail::callable_of<F>>(std::move(function));
    }
    template <class F, class S> task begin(options options, F body, S safe_state)
    {
        auto main = keep<cycle>(std::move(body));
        task::kept safe;
        auto &raw = options.raw_;
        raw.name = detail::c_text(options.name_);
        if constexpr (!std::is_same_v<S, no_safe_state>) {
            safe = keep<cycle>(std::move(safe_state));
            raw.safe_state = task::call<S, cycle, prt_cycle>;
            raw.safe_state_data = safe.get();
        }
        prt_task *started = nullptr;
        detail::must(prt_task_start(handle_.get(), &raw, task::call<F, cycle, prt_cycle>, main.get(), &started));
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
    /// Prints no warnings on standard error, for a program that prints runtime::report() itself.
    builder &silence_warnings() { return did(prt_builder_silence_warnings(handle_.get())); }
    builder &want(check what, std::uint64_t argument = 0) { return add(what, argument, severity::wanted); }
    builder &require(check what, std::uint64_t argument = 0) { return add(what, argument, severity::required); }
    /// Checks that this SCHED_DEADLINE reservation is granted, by trying it and restoring the previous policy.
    builder &check_deadline(nanoseconds runtime, nanoseconds deadline, nanoseconds period, severity how)
    {
        return did(prt_builder_check_deadline(handle_.get(), detail::ns(runtime), detail::ns(deadline), detail::ns(period),
                                              static_cast<int>(how)));
    }
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

/// Blocks SIGINT, SIGTERM and SIGHUP for runtime::until_signal(). Call it at the start of main().
inline void block_signals() { detail::must(prt_block_signals()); }

} // namespace punctual

#endif // PUNCTUAL_TASKS_HPP
