// Tests the executor of examples/executor.cpp: callbacks that are slower than their publisher do not keep its timer from running.

#define main executor_main
#include "../../examples/executor.cpp"
#undef main

int main()
{
    executor callbacks;
    unsigned timers = 0;
    auto published = callbacks.subscribe<state>(64, [](const state &) { std::this_thread::sleep_for(3ms); });
    auto program = rt::builder().silence_warnings().start();
    const auto begun = rt::clock::now();
    auto loop = program.start(rt::options("loop", rt::policy::other, 0, 1ms).cycles(1000), [&](const rt::cycle &cycle) noexcept {
        published.publish({cycle.index(), 0});
    });
    std::thread end([&] {
        loop.join();
        callbacks.cancel();
    });
    callbacks.spin(50ms, [&] { timers++; });
    end.join();
    // One turn of all callbacks takes at most 64 times 3 ms, and an interval that passes meanwhile is skipped.
    const auto turns = (rt::clock::now() - begun) / 250ms;
    std::printf("timer %s\n", timers > 0 && timers * 4 >= turns ? "ran" : "starved");
    return 0;
}
