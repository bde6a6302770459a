/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a real-time thread notes for others: a log, marks in the kernel's trace. Part of punctual.hpp. */

#ifndef PUNCTUAL_NOTES_HPP
#define PUNCTUAL_NOTES_HPP

#include <punctual/base.hpp>

namespace punctual {

namespace detail {

/// A number of a record: integers, floating-point numbers and durations.
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

/// A string literal: the log keeps its address. A buffer does not compile; before C++20 a const array that is not static does, and must
/// not be given.
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

/// A real-time thread's end of a log.
class recorder {
public:
    /// Records the time, a text, and up to PRT_ARGS_MOST numbers for the `{}` in it: integers, floating-point numbers,
    /// durations (a negative one is 0). Wait-free, no system call.
    template <class... Numbers> status record(level level, literal text, const Numbers &...numbers) noexcept
    {
        static_assert(sizeof...(Numbers) <= PRT_ARGS_MOST, "more than PRT_ARGS_MOST numbers in a record");
        // The last one, since an array has at least one element.
        const prt_arg all[] = {detail::number(numbers)..., prt_arg{0, 0}};
        return detail::of(prt_record(handle_.get(), static_cast<int>(level), text.text_, all, sizeof...(Numbers)));
    }

private:
    friend class log;
    explicit recorder(prt_recorder *handle) : handle_(handle) {}
    detail::handle<prt_recorder, prt_recorder_free> handle_;
};

/// A log for real-time threads: an ordinary thread formats what they record, and writes it to a file descriptor. Destroying it writes
/// the rest.
class log {
public:
    /// The descriptor is duplicated.
    explicit log(int fd)
    {
        prt_log *started = nullptr;
        detail::must(prt_log_start(fd, &started));
        handle_.reset(started);
    }
    /// For one thread, with space for `capacity` records.
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

/// Marks of a program in the kernel's trace, `punctual: NAME` or `punctual: NAME VALUE`, beside the scheduler's events. Where they
/// cannot be written they are counted, and problem() has the reason.
class marks {
public:
    marks()
    {
        prt_marks *opened = nullptr;
        (void)prt_marks_open(&opened);
        handle_.reset(opened);
    }
    /// One write(2); any thread may, also a real-time one.
    status mark(const char *name) noexcept { return detail::of(prt_mark(handle_.get(), name)); }
    status mark(const char *name, std::uint64_t value) noexcept { return detail::of(prt_mark_value(handle_.get(), name, value)); }
    /// The program is late: `punctual watch --app` keeps and explains the events before it.
    status late(const char *name = nullptr) noexcept { return detail::of(prt_late(handle_.get(), name)); }
    prt_mark_counts counts() const noexcept
    {
        prt_mark_counts now{};
        (void)prt_marks_counts(handle_.get(), &now);
        return now;
    }
    /// Why a mark is not in the trace, and what to do; empty if all are.
    std::string problem() const { return prt_marks_check(handle_.get()) == PRT_STATUS_OK ? std::string() : prt_last_error(); }

private:
    detail::handle<prt_marks, prt_marks_free> handle_;
};

} // namespace punctual

#endif // PUNCTUAL_NOTES_HPP
