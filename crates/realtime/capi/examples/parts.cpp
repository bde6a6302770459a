// Every part of punctual.hpp once; prints what the test expects.

#include <punctual.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
namespace rt = punctual;

namespace {

struct sample {
    std::uint64_t index;
    double value;
};

void locks()
{
    rt::mutex mutex;
    rt::condition condition;
    int state = 0;
    std::thread other([&] {
        std::lock_guard<rt::mutex> held(mutex);
        state = 1;
        (void)condition.notify_all(mutex);
    });
    {
        rt::guard held(mutex);
        while (held && state == 0)
            (void)condition.wait_until(mutex, rt::clock::now() + 1s);
    }
    other.join();
    const bool again = [&] { rt::guard one(mutex), two(mutex); return two.code() == rt::status::deadlock; }();
    std::printf("mutex state %d, locked twice is a deadlock %d, free %d\n", state, again, mutex.try_lock());
    (void)mutex.unlock();
}

void events()
{
    rt::semaphore semaphore(1);
    const bool first = semaphore.try_wait(), second = semaphore.try_wait();
    (void)semaphore.post();
    const auto late = rt::semaphore().wait_until(rt::clock::now() + 1ms);
    rt::flags flags(1);
    (void)flags.set(2);
    const auto both = flags.take(3, rt::match::all);
    std::printf("semaphore %d %d count %u timed out %d; flags %u then %u\n", first, second, semaphore.count(),
                late == rt::status::timed_out, both.second, flags.get());
}

void alarms()
{
    rt::alarms alarms;
    alarms.add(2ms, 2).add(1ms, 1).add(3ms, 3);
    std::array<int, 3> order{};
    std::size_t n = 0, done = 0;
    const auto code = alarms.run(rt::clock::now(), [&](const rt::alarms::rung &rung) noexcept {
        order[n++ % order.size()] = static_cast<int>(rung.action);
    }, &done);
    std::printf("alarms %zu order %d%d%d ok %d\n", done, order[0], order[1], order[2], code == rt::status::ok);
}

void refusals()
{
    try {
        rt::queue<sample>(0);
    } catch (const rt::error &error) {
        std::printf("refused %d, with a text %d\n", error.code() == rt::status::invalid, error.what()[0] != 0);
    }
}

} // namespace

int main()
{
    try {
        locks();
        events();
        alarms();
        refusals();
        auto runtime = rt::builder().want(rt::check::preempt_rt).start();
        auto [to, from] = rt::queue<sample>(256);
        const bool fifo = rt::is_granted(rt::policy::fifo, 10);
        auto options = rt::options("loop", fifo ? rt::policy::fifo : rt::policy::other, fifo ? 10 : 0, 1ms).cycles(50);
        std::atomic<bool> order{true};
        auto loop = runtime.start(options, [&, last = rt::time_point()](const rt::cycle &cycle) mutable noexcept {
            if (cycle.scheduled() <= last)
                order = false;
            last = cycle.scheduled();
            (void)to.send({cycle.index(), 0.5});
        });
        const auto how = loop.join();
        const auto stats = loop.stats();
        std::uint64_t received = 0;
        for (sample value; from.receive(value);)
            received += value.value == 0.5;
        std::printf("loop ended %d, ran all %d, received all %d, in order %d\n", how == rt::end::cycles,
                    stats.ran + stats.skipped == stats.released, received == stats.ran, order.load());
        auto brief = runtime.start(rt::options("brief", rt::policy::other, 0, 1ms), [](const rt::cycle &cycle) noexcept {
            return cycle.index() == 3 ? rt::next::stop : rt::next::keep_going;
        });
        std::printf("brief ended %d\n", brief.join() == rt::end::returned);
        return runtime.report().empty();
    } catch (const rt::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
