/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Communication between threads, and with the shell: queues, mailboxes, pipes. Part of punctual.hpp. */

#ifndef PUNCTUAL_PASSING_HPP
#define PUNCTUAL_PASSING_HPP

#include <punctual/base.hpp>

#include <string_view>

namespace punctual {

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
    /// Receives the oldest value; returns false if there is none.
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

/// A bounded mailbox from any number of threads to one that sleeps. With several readers, each value goes to one of
/// them. `T` is copied byte by byte.
template <class T> class mailbox {
public:
    explicit mailbox(std::size_t capacity, overflow when_full = overflow::refuse)
    {
        static_assert(std::is_trivially_copyable_v<T>, "values of a mailbox are copied byte by byte");
        static_assert(sizeof(T) <= PRT_QUEUE_LARGEST, "send an index or a pointer to values that large");
        prt_mailbox *made = nullptr;
        detail::must(prt_mailbox_new(sizeof(T), capacity, static_cast<int>(when_full), &made));
        handle_.reset(made);
    }
    status send(const T &value) noexcept { return detail::of(prt_mailbox_send(handle_.get(), &value, sizeof value)); }
    /// Receives the oldest value; sleeps until there is one.
    status receive(T &value) noexcept { return detail::of(prt_mailbox_receive(handle_.get(), &value, sizeof value)); }
    status receive_until(time_point until, T &value) noexcept
    {
        return detail::of(prt_mailbox_receive_until(handle_.get(), &value, sizeof value, detail::ns(until)));
    }
    /// Does not sleep: returns status::empty if there is no value.
    status try_receive(T &value) noexcept { return detail::of(prt_mailbox_try_receive(handle_.get(), &value, sizeof value)); }
    prt_mailbox_counts counts() const noexcept
    {
        prt_mailbox_counts now{};
        (void)prt_mailbox_get_counts(handle_.get(), &now);
        return now;
    }

private:
    detail::handle<prt_mailbox, prt_mailbox_free> handle_;
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
    /// A descriptor for poll(2) that is readable when lines have arrived. Call clear() before receive().
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
        detail::must(how(detail::c_text(at), capacity, static_cast<int>(when_full), &opened));
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

} // namespace punctual

#endif // PUNCTUAL_PASSING_HPP
