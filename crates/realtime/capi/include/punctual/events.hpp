/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What releases tasks and threads: alarms, timers, eventfds, GPIO lines, UIO devices. Part of punctual.hpp. */

#ifndef PUNCTUAL_EVENTS_HPP
#define PUNCTUAL_EVENTS_HPP

#include <punctual/base.hpp>

namespace punctual {

/// Up to PRT_ALARMS_MOST actions, each at a given time after a common epoch.
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
    /// Calls `action(const rung &)`, which must be noexcept and return void or next, for each alarm in turn. `done`
    /// receives the number of alarms.
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
        return detail::result_of(*static_cast<F *>(data), now);
    }
    detail::handle<prt_alarms, prt_alarms_free> handle_;
};

/// A source of events for an interrupt task, passed to runtime::start().
class source {
public:
    /// The interrupts of a UIO device such as /dev/uio0.
    static source uio(const std::string &path)
    {
        return made([&](prt_source **out) { return prt_source_uio(detail::c_text(path), out); });
    }
    /// The edges of a line of a GPIO chip (device, name or label). interrupt::value() is 1 for a rising edge.
    static source gpio(const std::string &chip, std::uint32_t offset, edges which)
    {
        return made([&](prt_source **out) { return prt_source_gpio(detail::c_text(chip), offset, static_cast<int>(which), out); });
    }
    /// A custom source. `wait` is `int(prt_arrival &)` and noexcept. It waits for an event, describes it, and returns 0
    /// or an errno; EINTR if a signal ended the wait.
    template <class F> static source custom(F wait)
    {
        static_assert(std::is_nothrow_invocable_r_v<int, F &, prt_arrival &>,
                      "a source is called as wait(prt_arrival &), returns an errno and has to be noexcept");
        auto kept = std::make_unique<detail::callable_of<F>>(std::move(wait));
        detail::callable *data = kept.get();
        auto source = made([&](prt_source **out) { return prt_source_custom(call<F>, data, out); });
        source.kept_ = std::move(kept);
        return source;
    }

private:
    friend class eventfd;
    friend class timer;
    friend class runtime;
    explicit source(prt_source *handle) : handle_(handle) {}
    template <class F> static source made(F how)
    {
        prt_source *out = nullptr;
        detail::must(how(&out));
        return source(out);
    }
    template <class F> static int call(prt_arrival *arrival, void *data) noexcept { return detail::behind<F>(data)(*arrival); }
    std::unique_ptr<detail::callable> kept_;
    detail::handle<prt_source, prt_source_free> handle_;
};

/// A counter that other threads and processes increment: eventfd(2).
class eventfd {
public:
    eventfd()
    {
        prt_eventfd *made = nullptr;
        detail::must(prt_eventfd_new(&made));
        handle_.reset(made);
    }
    status raise(std::uint64_t events = 1) noexcept { return detail::of(prt_eventfd_raise(handle_.get(), events)); }
    source events() const
    {
        return source::made([&](prt_source **out) { return prt_source_eventfd(handle_.get(), out); });
    }

private:
    detail::handle<prt_eventfd, prt_eventfd_free> handle_;
};

/// A timer that other threads set. It expires in hard interrupt context if its task is real-time.
class timer {
public:
    timer() : handle_(prt_timer_new()) {}
    /// Expires once, or from `first` on every `interval`. Replaces the previous setting.
    status set(time_point first, nanoseconds interval = {}) noexcept
    {
        return detail::of(prt_timer_set(handle_.get(), detail::ns(first), detail::ns(interval)));
    }
    status cancel() noexcept { return detail::of(prt_timer_cancel(handle_.get())); }
    /// The timer's expirations, for one task.
    source events() const
    {
        return source::made([&](prt_source **out) { return prt_source_timer(handle_.get(), out); });
    }

private:
    detail::handle<prt_timer, prt_timer_free> handle_;
};

/// Gives the threads of an interrupt a SCHED_FIFO priority for the lifetime of this object.
class irq_threads {
public:
    irq_threads(int irq, int priority)
    {
        prt_irq_threads *changed = nullptr;
        detail::must(prt_irq_threads_set(irq, priority, &changed));
        handle_.reset(changed);
    }

private:
    detail::handle<prt_irq_threads, prt_irq_threads_free> handle_;
};

} // namespace punctual

#endif // PUNCTUAL_EVENTS_HPP
