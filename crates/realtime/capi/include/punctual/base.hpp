/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Clock, status, errors and the enumerations of punctual_rt.h. Part of punctual.hpp. */

#ifndef PUNCTUAL_BASE_HPP
#define PUNCTUAL_BASE_HPP

#include <punctual_rt.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace punctual {

using nanoseconds = std::chrono::nanoseconds;

/// CLOCK_MONOTONIC. A reading is a vDSO call, and on ordinary machines no system call.
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
    source_failed = PRT_END_SOURCE_FAILED,
};
enum class measure { lateness = PRT_MEASURE_LATENESS, execution = PRT_MEASURE_EXECUTION };
/// What happens to a value for which there is no room. drop_oldest is for mailboxes only.
enum class overflow { refuse = PRT_OVERFLOW_REFUSE, drop_newest = PRT_OVERFLOW_DROP_NEWEST, drop_oldest = PRT_OVERFLOW_DROP_OLDEST };
enum class level { error = PRT_LEVEL_ERROR, warning = PRT_LEVEL_WARNING, info = PRT_LEVEL_INFO, debug = PRT_LEVEL_DEBUG };
enum class edges { rising = PRT_EDGES_RISING, falling = PRT_EDGES_FALLING, both = PRT_EDGES_BOTH };
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

/// A set-up call failed. Names the operation, its object, the cause, and a remedy.
class error : public std::exception {
public:
    explicit error(status code) : error(code, prt_last_error()) {}
    error(status code, std::string text) : code_(code), text_(std::move(text)) {}
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

/// A string of the library; NULL means that the call which returned it failed.
inline std::string text(const char *answer)
{
    if (!answer)
        throw error(status::null);
    return answer;
}

/// Returns the C string. Throws if the text contains a NUL byte, which would end it.
inline const char *c_text(const std::string &text)
{
    if (text.find('\0') != text.npos)
        throw error(status::invalid, "a NUL byte in a name or path: remove it");
    return text.c_str();
}

inline std::uint64_t ns(nanoseconds time) noexcept
{
    return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

inline std::uint64_t ns(time_point time) noexcept { return ns(time.time_since_epoch()); }

/// Frees a handle with the given function of punctual_rt.h.
template <auto Free> struct freed {
    template <class T> void operator()(T *handle) const noexcept { (void)Free(handle); }
};

template <class T, auto Free> using handle = std::unique_ptr<T, freed<Free>>;

/// A function object that a C function calls; it outlives the thread that calls it.
struct callable {
    virtual ~callable() = default;
};

template <class F> struct callable_of : callable {
    explicit callable_of(F from) : function(std::move(from)) {}
    F function;
};

/// The function object of type `F` behind the `data` of a C callback, which is a callable.
template <class F> F &behind(void *data) noexcept { return static_cast<callable_of<F> *>(static_cast<callable *>(data))->function; }

/// Converts the result of a body for C; void becomes next::keep_going.
template <class F, class... A> int result_of(F &function, A &&...arguments) noexcept
{
    using result = std::invoke_result_t<F &, A...>;
    static_assert(std::is_void_v<result> || std::is_same_v<result, next>,
                  "a body returns void or punctual::next: what a status, bool or number means here would be a guess");
    if constexpr (std::is_void_v<result>) {
        function(std::forward<A>(arguments)...);
        return PRT_NEXT_CONTINUE;
    } else {
        return static_cast<int>(function(std::forward<A>(arguments)...));
    }
}

} // namespace detail

/// Sleeps until `until`. Real-time: clock_nanosleep(2).
inline status sleep_until(time_point until) noexcept { return detail::of(prt_sleep_until(detail::ns(until))); }

/// Returns true if the calling thread is granted this policy; sets the policy and restores the previous one.
inline bool is_granted(policy policy, int priority) noexcept
{
    return prt_try_scheduling(static_cast<int>(policy), priority) == PRT_STATUS_OK;
}

} // namespace punctual

#endif // PUNCTUAL_BASE_HPP
