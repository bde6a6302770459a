// NAME: a control step every millisecond, with a log that cannot delay it.
//
//   NAME [SECONDS [CPU]]      without SECONDS, or with 0: until Ctrl-C; without CPU: on any CPU

#include <punctual.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

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

/// Parses a whole number that is not negative.
bool number(std::string_view text, int &value)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

/// Runs in an ordinary thread, so the loop does not wait for anything in here.
void log_second(rt::receiver<sample> &from, int second)
{
    rt::nanoseconds worst{};
    unsigned count = 0;
    for (sample value; from.receive(value); count++)
        worst = std::max(worst, value.late);
    std::printf("second %d: %u steps, at most %lld us late; %llu samples dropped so far\n", second, count, us(worst),
                static_cast<unsigned long long>(from.counts().dropped));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) try {
    int seconds = 0, cpu = -1;
    if (argc > 3 || (argc > 1 && !number(argv[1], seconds)) || (argc > 2 && !number(argv[2], cpu))) {
        std::fprintf(stderr, "usage: NAME [SECONDS [CPU]]\n");
        return 2;
    }
    rt::block_signals();
    auto program = rt::builder().lock_memory().want(rt::check::preempt_rt).require(rt::check::high_resolution_timers).start();
    // A queue that lasts for four seconds; samples that do not fit are dropped and counted.
    auto [to, from] = rt::queue<sample>(4096, rt::overflow::drop_newest);
    to.lock_memory();
    auto options = rt::options("NAME", rt::policy::fifo, priority, period).on_cpu(cpu);
    options.cycles(static_cast<std::uint64_t>(seconds) * (1s / period));
    // Nothing in the loop allocates, locks or prints.
    auto loop = program.start(options, [&to = to](const rt::cycle &cycle) noexcept {
        (void)to.send({cycle.index(), cycle.lateness()});
    });
    // Until the last second is over, or a signal stops the task.
    auto next = rt::clock::now() + 1s;
    int second = 1;
    for (; !program.until_signal_or(next) && second != seconds; second++, next += 1s)
        log_second(from, second);
    loop.join();
    log_second(from, second);
    const auto stats = loop.stats();
    std::printf("%llu releases: %llu ran, %llu skipped; late by %lld us at the median, %lld us at most; %lld page faults\n",
                static_cast<unsigned long long>(stats.released), static_cast<unsigned long long>(stats.ran),
                static_cast<unsigned long long>(stats.skipped), us(loop.quantile(rt::measure::lateness, 0.5)),
                us(loop.quantile(rt::measure::lateness, 1)), static_cast<long long>(stats.page_faults));
} catch (const rt::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
