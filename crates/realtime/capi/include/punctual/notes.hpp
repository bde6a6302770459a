/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Logging and tracing for real-time threads: a log, and marks in the kernel's trace. Part of punctual.hpp. */

#ifndef PUNCTUAL_NOTES_HPP
#define PUNCTUAL_NOTES_HPP

#include <punctual/base.hpp>

namespace punctual {

namespace detail {

/// Converts an argument of a record: an integer, a floating-point number or a duration.
template <class T> prt_arg number(const T &value) noexcept
{
    if constexpr (std::is_floating_point_v<T>)
        return prt_arg_double(static_cast<double>(value));
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return prt_arg_signed(static_cast<std::int64_t>(value));
    else if constexpr (std::is_integral_v<T>)
        return prt_arg_unsigned(static_cast<std::uint64_t>(value));
    else
        return prt_arg_time(ns(std::chrono::duration_cast<nanoseconds>(value)));
}

} // namespace detail

/// A string literal; the log keeps its address. A buffer does not compile. Before C++20 a const array that is not
/// static does compile, but must not be passed.
class literal {
public:
    template <std::size_t N>
#ifdef __cpp_consteval
    consteval
#else
    constexpr
#endif
    literal(const char (&text)[N]) noexcept : text_(text)
    {
    }
    template <std::size_t N> literal(char (&)[N]) = delete;

private:
    friend class recorder;
    const char *text_;
};

/// The writing end of a log, for one real-time thread.
class recorder {
public:
    /// Records the time, a text, and up to PRT_ARGS_MOST numbers for its `{}`: integers, floating-point numbers,
    /// durations (a negative one is 0). Wait-free, no system call.
    template <class... Numbers> status record(level level, literal text, const Numbers &...numbers) noexcept
    {
        static_assert(sizeof...(Numbers) <= PRT_ARGS_MOST, "more than PRT_ARGS_MOST numbers in a record");
        // The last element is unused, because an array needs at least one.
        const prt_arg all[] = {detail::number(numbers)..., prt_arg{0, 0}};
        return detail::of(prt_record(handle_.get(), static_cast<int>(level), text.text_, all, sizeof...(Numbers)));
    }

private:
    friend class log;
    explicit recorder(prt_recorder *handle) : handle_(handle) {}
    detail::handle<prt_recorder, prt_recorder_free> handle_;
};

/// A log for real-time threads. An ordinary thread formats their records and writes them to a file descriptor.
/// Destroying the log writes the rest.
class log {
public:
    /// The descriptor is duplicated.
    explicit log(int fd)
    {
        prt_log *started = nullptr;
        detail::must(prt_log_start(fd, &started));
        handle_.reset(started);
    }
    /// For one thread, with room for `capacity` records.
    class recorder recorder(const std::string &name, std::size_t capacity) const
    {
        prt_recorder *made = nullptr;
        detail::must(prt_log_recorder(handle_.get(), detail::c_text(name), capacity, &made));
        return punctual::recorder(made);
    }
    prt_log_counts counts() const noexcept
    {
        prt_log_counts now{};
        (void)prt_log_get_counts(handle_.get(), &now);
        return now;
    }

private:
    detail::handle<prt_log, prt_log_free> handle_;
};

/// Marks of a program in the kernel's trace, `punctual: NAME` or `punctual: NAME VALUE`, next to the scheduler's
/// events. Marks that cannot be written are counted, and problem() returns the reason.
class marks {
public:
    marks()
    {
        prt_marks *opened = nullptr;
        (void)prt_marks_open(&opened);
        handle_.reset(opened);
    }
    /// One write(2). Any thread may call it, including a real-time one.
    status mark(const char *name) noexcept { return detail::of(prt_mark(handle_.get(), name)); }
    status mark(const char *name, std::uint64_t value) noexcept { return detail::of(prt_mark_value(handle_.get(), name, value)); }
    /// Marks that the program is late: `punctual watch --app` keeps and explains the events before this mark.
    status late(const char *name = nullptr) noexcept { return detail::of(prt_late(handle_.get(), name)); }
    prt_mark_counts counts() const noexcept
    {
        prt_mark_counts now{};
        (void)prt_marks_counts(handle_.get(), &now);
        return now;
    }
    /// Why marks are missing from the trace, and what to do; empty if none are.
    std::string problem() const { return prt_marks_check(handle_.get()) == PRT_STATUS_OK ? std::string() : prt_last_error(); }

private:
    detail::handle<prt_marks, prt_marks_free> handle_;
};

} // namespace punctual

#endif // PUNCTUAL_NOTES_HPP
