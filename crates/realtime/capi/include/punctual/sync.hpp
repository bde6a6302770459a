/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Synchronisation: mutex, condition variable, semaphore, event flags. Part of punctual.hpp. */

#ifndef PUNCTUAL_SYNC_HPP
#define PUNCTUAL_SYNC_HPP

#include <punctual/base.hpp>

namespace punctual {

/// A mutex with priority inheritance. Meets Lockable, so std::lock_guard and std::unique_lock accept it; guard does not
/// throw.
class mutex {
public:
    mutex() : handle_(prt_mutex_new()) {}
    /// Throws punctual::error: status::deadlock if this thread already holds the mutex, status::owner_died if its owner
    /// ended while holding it. In the second case is_mine() tells whether this thread holds it now, and must repair the
    /// data and call unlock(), or whether it is lost. In a noexcept function, such as the body of a task, the exception
    /// ends the program.
    void lock() { detail::must(prt_mutex_lock(handle_.get())); }
    bool try_lock() noexcept { return prt_mutex_try_lock(handle_.get()) == PRT_STATUS_OK; }
    status lock_until(time_point until) noexcept { return detail::of(prt_mutex_lock_until(handle_.get(), detail::ns(until))); }
    status unlock() noexcept { return detail::of(prt_mutex_unlock(handle_.get())); }
    bool is_mine() const noexcept { return prt_mutex_is_mine(handle_.get()); }

private:
    friend class condition;
    friend class guard;
    detail::handle<prt_mutex, prt_mutex_free> handle_;
};

/// Holds a mutex for its own lifetime, if it converts to true.
class guard {
public:
    explicit guard(mutex &of) noexcept : of_(of), code_(detail::of(prt_mutex_lock(of.handle_.get()))) {}
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    ~guard()
    {
        if (*this)
            (void)of_.unlock();
    }
    /// True if this guard holds the mutex. If code() is status::owner_died nevertheless, the protected data may be
    /// inconsistent.
    explicit operator bool() const noexcept { return code_ == status::ok || (code_ == status::owner_died && of_.is_mine()); }
    status code() const noexcept { return code_; }

private:
    mutex &of_;
    status code_;
};

/// Call wait in a loop, because it can return without a notification. The caller holds the mutex before and after.
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

/// 32 event flags. wait() leaves them set, take() clears those of the mask.
class flags {
public:
    explicit flags(std::uint32_t set = 0) : handle_(prt_flags_new(set)) {}
    status set(std::uint32_t mask) noexcept { return detail::of(prt_flags_set(handle_.get(), mask)); }
    /// Returns the flags of the mask that were set.
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

} // namespace punctual

#endif // PUNCTUAL_SYNC_HPP
