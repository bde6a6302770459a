// An executor like that of rclcpp, without ROS: a real-time loop sends values through bounded queues to an ordinary thread that runs the
// callbacks. In ROS 2, rt_loop is update() of a ros2_control controller, or a loop beside rclcpp::spin(), and `telemetry` is a publisher.
//
//   executor [CYCLES]      1000 by default
//
// Sending never delays the loop: a full queue drops the value and counts it. The loop receives values from callbacks at its next cycle,
// without waiting.

#include <punctual.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace rt = punctual;
using namespace std::chrono_literals;

namespace {

/// A subscription: receives values and calls back, in the executor's thread.
class waitable {
public:
    virtual ~waitable() = default;
    /// Calls back for the values that are waiting now, not for later ones, so that each subscription has its turn.
    virtual void take() = 0;
};

template <class T, class F> class subscription : public waitable {
public:
    subscription(rt::receiver<T> from, F callback) : from_(std::move(from)), callback_(std::move(callback)) {}
    void take() override
    {
        T value;
        for (auto left = from_.waiting(); left > 0 && from_.receive(value); left--)
            callback_(value);
    }

private:
    rt::receiver<T> from_;
    F callback_;
};

/// The sending end of a subscription.
template <class T> class publisher {
public:
    publisher(rt::sender<T> to, rt::semaphore &ready) : to_(std::move(to)), ready_(ready) {}
    /// For the real-time thread: wait-free, apart from futex(2) if the executor sleeps.
    void publish(const T &value) noexcept
    {
        (void)to_.send(value);
        (void)ready_.post();
    }
    prt_queue_counts counts() const noexcept { return to_.counts(); }

private:
    rt::sender<T> to_;
    rt::semaphore &ready_;
};

/// Runs the callbacks of all subscriptions, and timers, in the thread that calls spin().
class executor {
public:
    /// `depth` is the number of values that may wait, like the depth of a QoS profile with keep-last; but here the
    /// newest value is dropped, and counted.
    template <class T, class F> publisher<T> subscribe(std::size_t depth, F callback)
    {
        auto [to, from] = rt::queue<T>(depth, rt::overflow::drop_newest);
        to.lock_memory();
        all_.push_back(std::make_unique<subscription<T, F>>(std::move(from), std::move(callback)));
        return {std::move(to), ready_};
    }
    /// Returns after cancel(). Calls `timer` every `interval`; intervals that pass during a callback are skipped.
    /// Values that arrived before cancel() are still received.
    template <class F> void spin(rt::nanoseconds interval, F timer)
    {
        for (auto next = rt::clock::now() + interval; !done_;) {
            // A post may stand for values that have been received already; then there is nothing to do.
            (void)ready_.wait_until(next);
            // Checked whatever ended the wait, because it does not time out while values keep arriving.
            if (const auto late = rt::clock::now() - next; late >= 0ns) {
                timer();
                next += interval * (1 + late / interval);
            }
            take();
        }
        take();
    }
    void cancel()
    {
        done_ = true;
        (void)ready_.post();
    }

private:
    void take()
    {
        for (auto &one : all_)
            one->take();
    }
    std::vector<std::unique_ptr<waitable>> all_;
    rt::semaphore ready_;
    std::atomic<bool> done_{false};
};

struct state {
    std::uint64_t cycle;
    double position;
};

struct fault {
    std::uint64_t cycle;
    std::uint64_t skipped;
};

} // namespace

int main(int argc, char **argv) try {
    const unsigned long cycles = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    executor callbacks;
    std::uint64_t states = 0, faults = 0, timers = 0;
    double last = 0;
    auto telemetry = callbacks.subscribe<state>(256, [&](const state &now) {
        states++; // in ROS 2: publisher->publish(message)
        last = now.position;
    });
    auto missed = callbacks.subscribe<fault>(16, [&](const fault &) { faults++; });
    auto [setpoints, targets] = rt::queue<double>(8);

    auto program = rt::builder().silence_warnings().want(rt::check::preempt_rt).start();
    const bool fifo = rt::is_granted(rt::policy::fifo, 80);
    auto options = rt::options("rt_loop", fifo ? rt::policy::fifo : rt::policy::other, fifo ? 80 : 0, 1ms).cycles(cycles);
    auto loop = program.start(options, [&, &targets = targets, position = 0.0, target = 0.0](const rt::cycle &cycle) mutable noexcept {
        while (targets.receive(target)) {
        }
        position += (target - position) * 0.01;
        if (cycle.skipped())
            missed.publish({cycle.index(), cycle.skipped()});
        if (cycle.index() % 10 == 0)
            telemetry.publish({cycle.index(), position});
    });
    // An ordinary thread ends the executor after the loop; rclcpp does so at SIGINT.
    std::thread end([&] {
        loop.join();
        callbacks.cancel();
    });
    callbacks.spin(100ms, [&, &setpoints = setpoints] {
        timers++;
        (void)setpoints.send(1.0);
    });
    end.join();

    const auto sent = telemetry.counts(), late = missed.counts();
    std::printf("states: %llu published, %llu called back, %llu dropped; faults: %llu, %llu, %llu\n",
                static_cast<unsigned long long>(sent.sent + sent.dropped), static_cast<unsigned long long>(states),
                static_cast<unsigned long long>(sent.dropped), static_cast<unsigned long long>(late.sent + late.dropped),
                static_cast<unsigned long long>(faults), static_cast<unsigned long long>(late.dropped));
    std::printf("timers: %llu, the last position is %s\n", static_cast<unsigned long long>(timers),
                last > 0 && last < 1 ? "between 0 and the target" : "elsewhere");
    return 0;
} catch (const rt::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
