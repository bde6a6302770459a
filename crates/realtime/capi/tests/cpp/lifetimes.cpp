// Tests objects of punctual.hpp that outlive each other, and locks that are not held.
//
//   lifetimes FIFO       prints what went wrong, or "lifetimes ok"
//   lifetimes own        a body destroys the handle of its own task: the program ends
//   lifetimes other      a body destroys the handle of another task: the program ends

#include <punctual.hpp>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
namespace rt = punctual;

namespace {

int faults = 0;

void expect(bool is_so, const char *what)
{
    if (!is_so) {
        std::printf("not so: %s\n", what);
        faults++;
    }
}

template <class F> rt::status thrown(F function)
{
    try {
        function();
    } catch (const rt::error &error) {
        return *error.what() ? error.code() : rt::status::panic;
    }
    return rt::status::ok;
}

/// A body that runs most of the time, and records if it is destroyed meanwhile.
struct busy {
    struct state {
        std::atomic<bool> is_called{false};
        std::atomic<int> calls{0};
    };
    state *at;
    static inline std::atomic<bool> destroyed_in_use{false};
    explicit busy(state *of) : at(of) {}
    busy(busy &&from) noexcept : at(std::exchange(from.at, nullptr)) {}
    ~busy()
    {
        if (at && at->is_called)
            destroyed_in_use = true;
    }
    void operator()(const rt::cycle &) noexcept
    {
        auto &now = *at;
        now.is_called = true;
        for (const auto end = rt::clock::now() + 900us; rt::clock::now() < end;) {
        }
        now.calls++;
        now.is_called = false;
    }
};

void tasks_that_are_replaced(rt::runtime &program)
{
    std::vector<busy::state> states(16);
    std::size_t next = 0;
    auto start = [&] {
        auto &state = states.at(next++);
        auto task = program.start(rt::options("busy", rt::policy::other, 0, 1ms), busy(&state));
        while (state.calls < 2)
            std::this_thread::sleep_for(100us);
        return task;
    };
    auto task = start();
    for (int n = 0; n < 5; n++)
        task = start();
    std::optional<rt::task> maybe(start());
    maybe = start();
    maybe.reset();
    std::vector<rt::task> several;
    for (int n = 0; n < 3; n++)
        several.push_back(start());
    several.erase(several.begin());
    task = std::move(several.front());
    expect(thrown([&] { (void)several.front().stats(); }) == rt::status::null, "a task that was moved away is NULL");
    expect(thrown([&] { (void)several.front().not_resident(); }) == rt::status::null, "and says no reason");
    several.clear();
    expect(task.stop() == rt::end::stopped, "the last one runs until it is stopped");
    expect(!busy::destroyed_in_use, "no body is destroyed while it is called");
}

void locks()
{
    rt::mutex lost;
    std::thread([&] { lost.lock(); }).join();
    rt::guard first(lost);
    expect(!first && first.code() == rt::status::owner_died && !lost.is_mine(), "nobody holds a lost mutex");
    expect(thrown([&] { std::lock_guard<rt::mutex> held(lost); }) == rt::status::owner_died, "lock_guard does not, either");
    expect(thrown([&] { std::unique_lock<rt::mutex> held(lost); }) == rt::status::owner_died, "nor unique_lock");

    rt::mutex handed;
    std::atomic<bool> is_held{false};
    std::thread owner([&] {
        handed.lock();
        is_held = true;
        std::this_thread::sleep_for(50ms);
    });
    while (!is_held)
        std::this_thread::yield();
    {
        rt::guard held(handed);
        expect(held.code() != rt::status::owner_died || (held && handed.is_mine()), "a waiter gets what its owner left");
    }
    owner.join();

    rt::mutex twice;
    std::lock_guard<rt::mutex> outer(twice);
    expect(thrown([&] { std::lock_guard<rt::mutex> inner(twice); }) == rt::status::deadlock, "a second lock throws");
    expect(twice.is_mine(), "and leaves the first");
}

void texts(rt::runtime &program, const char *fifo)
{
    rt::pipe_out out(fifo);
    expect(out.send(std::string_view()) == rt::status::ok && out.send("") == rt::status::ok, "an empty line is sent");
    const std::string cut("a\0b", 3);
    expect(thrown([&] { rt::pipe_out other(cut); }) == rt::status::invalid, "a path with a NUL byte is refused");
    expect(thrown([&] { program.start(rt::options(cut, rt::policy::other, 0, 1ms), [](const rt::cycle &) noexcept {}); }) ==
               rt::status::invalid,
           "so is a task's name");
    auto moved = std::move(program);
    expect(thrown([&] { (void)program.report(); }) == rt::status::null, "a runtime that was moved away has no report");
    expect(!moved.until_signal_or(rt::clock::now() + 1ms), "no signal came");
    expect(rt::flags(15).clear(3) == 3, "only flags of the mask are cleared");
}

/// This must end the program.
void destroyed_in_a_body(rt::runtime &program, bool own)
{
    std::optional<rt::task> idle(program.start(rt::options("idle", rt::policy::other, 0, 1ms), [](const rt::cycle &) noexcept {}));
    std::optional<rt::task> self;
    std::atomic<bool> begin{false};
    self = program.start(rt::options("self", rt::policy::other, 0, 1ms), [&](const rt::cycle &) noexcept {
        if (begin)
            (own ? self : idle).reset();
    });
    begin = true;
    std::this_thread::sleep_for(10s);
}

} // namespace

int main(int, char **argv) try {
    auto program = rt::builder().silence_warnings().start();
    const std::string what = argv[1];
    if (what == "own" || what == "other")
        destroyed_in_a_body(program, what == "own");
    tasks_that_are_replaced(program);
    locks();
    texts(program, argv[1]);
    if (!faults)
        std::puts("lifetimes ok");
    return faults != 0;
} catch (const rt::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
