// NAME: a control step every millisecond, and a log of it that cannot delay it.
//
//   NAME [SECONDS [CPU]]      SECONDS 0, or without it: until Ctrl-C; without CPU on any

#include <punctual.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace rt = punctual;
using namespace std::chrono_literals;

namespace {

constexpr auto period = 1ms;
constexpr int priority = 80;

struct sample {
    std::uint64_t index;
    rt::nanoseconds late;
};

long long us(rt::nanoseconds time) { return static_cast<long long>(time / 1us); }

/// In an ordinary thread: whatever it waits for, the loop does not.
void log_second(rt::receiver<sample> &from, unsigned second)
{
    rt::nanoseconds worst{};
    unsigned count = 0;
    for (sample value; from.receive(value); count++)
        worst = std::max(worst, value.late);
    std::printf("second %u: %u steps, at most %lld us late\n", second, count, us(worst));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) try {
    const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 0;
    rt::block_signals();
    auto program = rt::builder().lock_memory().want(rt::check::preempt_rt).require(rt::check::high_resolution_timers).start();
    // A queue for four seconds; what does not fit is dropped and counted.
    auto [to, from] = rt::queue<sample>(4096, rt::overflow::drop_newest);
    to.lock_memory();
    auto options = rt::options("NAME", rt::policy::fifo, priority, period).cycles(seconds * (1s / period));
    options.on_cpu(argc > 2 ? std::atoi(argv[2]) : -1);
    // In the loop nothing is allocated, locked or printed.
    auto loop = program.start(options, [&to = to](const rt::cycle &cycle) noexcept {
        (void)to.send({cycle.index(), cycle.lateness()});
    });
    auto next = rt::clock::now();
    for (unsigned second = 1; second <= seconds; second++) {
        (void)rt::sleep_until(next += 1s);
        log_second(from, second);
    }
    if (seconds)
        loop.join();
    else
        program.until_signal();
    const auto stats = loop.stats();
    std::printf("%llu releases: %llu ran, %llu skipped; late by %lld us at the median, %lld us at most; %lld page faults\n",
                static_cast<unsigned long long>(stats.released), static_cast<unsigned long long>(stats.ran),
                static_cast<unsigned long long>(stats.skipped), us(loop.quantile(rt::measure::lateness, 0.5)),
                us(loop.quantile(rt::measure::lateness, 1)), static_cast<long long>(stats.page_faults));
} catch (const rt::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
