// Uses every part of punctual.hpp once, and prints what the test expects.

#include <punctual.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
#include <unistd.h>

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

void mail()
{
    rt::mailbox<sample> box(2, rt::overflow::drop_oldest);
    std::thread writer([&] {
        for (std::uint64_t n = 0; n < 3; n++)
            (void)box.send({n, 0.5});
    });
    writer.join();
    sample first{}, second{}, none{};
    const bool both = box.receive(first) == rt::status::ok && box.receive_until(rt::clock::now() + 1s, second) == rt::status::ok;
    const bool empty = box.try_receive(none) == rt::status::empty;
    const bool late = box.receive_until(rt::clock::now(), none) == rt::status::timed_out;
    const auto counts = box.counts();
    std::printf("mailbox %d: %d %d, empty %d, timed out %d, dropped %d\n", both, static_cast<int>(first.index),
                static_cast<int>(second.index), empty, late, static_cast<int>(counts.dropped_oldest));
}

/// Waits until a task has received this number of events.
void until(const rt::task &task, std::uint64_t events)
{
    while (task.events().events < events)
        (void)rt::sleep_until(rt::clock::now() + 1ms);
}

void interrupts(rt::runtime &runtime)
{
    const rt::interrupt_options ordinary("events", rt::policy::other, 0);
    rt::eventfd counter;
    std::uint64_t next = 0;
    auto counted = runtime.start(ordinary, counter.events(), [&](const rt::interrupt &now) noexcept {
        next = now.sequence() + now.coalesced() + 1;
    });
    for (int n = 0; n < 10; n++)
        (void)counter.raise(2);
    until(counted, 20);
    counted.stop();
    rt::timer timer;
    std::atomic<bool> early{false};
    auto timed = runtime.start(ordinary, timer.events(), [&](const rt::interrupt &now) noexcept {
        early = early || now.woke() < now.at();
    });
    (void)timer.set(rt::clock::now(), 200us);
    until(timed, 5);
    (void)timer.cancel();
    // A custom source delivers three arrivals, then an error.
    int calls = 0;
    auto source = rt::source::custom([calls](prt_arrival &arrival) mutable noexcept {
        arrival.value = static_cast<std::uint64_t>(++calls);
        return calls < 4 ? 0 : 5;
    });
    std::uint64_t sum = 0;
    auto own = runtime.start(ordinary, std::move(source), [&sum](const rt::interrupt &now) noexcept {
        sum += now.value();
        return rt::next::keep_going;
    });
    const bool failed = own.join() == rt::end::source_failed && own.events().source_error == 5;
    std::printf("events %d, early %d, own %d with error %d\n", static_cast<int>(next), early.load(), static_cast<int>(sum), failed);
}

void notes()
{
    int ends[2];
    if (pipe(ends))
        return;
    {
        rt::log log(ends[1]);
        auto recorder = log.recorder("loop", 8);
        (void)recorder.record(rt::level::info, "{} and {}, {} in {}", 7u, -3, 0.5, 850us);
        (void)recorder.record(rt::level::warning, "plain");
    }
    char text[256] = "";
    const auto got = read(ends[0], text, sizeof text - 1);
    const std::string_view lines(text, got > 0 ? static_cast<std::size_t>(got) : 0);
    const bool whole = lines.find(" info loop: 7 and -3, 0.5 in 850 µs\n") != lines.npos && lines.find(" warning loop: plain\n") != lines.npos;
    rt::marks marks;
    const auto code = marks.mark("begin");
    const bool same = marks.mark("step", 7) == code;
    const auto counts = marks.counts();
    std::printf("log %d; marks %d, %d\n", whole, same && (code == rt::status::ok) == marks.problem().empty(),
                static_cast<int>(counts.written + counts.failed));
}

void refusals()
{
    try {
        rt::queue<sample>(0);
    } catch (const rt::error &error) {
        std::printf("refused %d, with a text %d\n", error.code() == rt::status::invalid, error.what()[0] != 0);
    }
    try {
        rt::irq_threads(4000000, 50);
    } catch (const rt::error &error) {
        std::printf("no such interrupt %d\n", error.code() == rt::status::refused);
    }
}

} // namespace

int main()
{
    try {
        locks();
        events();
        alarms();
        mail();
        notes();
        refusals();
        auto runtime = rt::builder().silence_warnings().want(rt::check::preempt_rt).start();
        interrupts(runtime);
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
            return cycle.index() >= 3 ? rt::next::stop : rt::next::keep_going;
        });
        std::printf("brief ended %d\n", brief.join() == rt::end::returned);
        return runtime.report().empty();
    } catch (const rt::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
