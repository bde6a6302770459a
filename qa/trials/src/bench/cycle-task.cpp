// The task of cycle-task.c in C++.

#include <punctual.hpp>

#include <cstdio>

namespace rt = punctual;

struct sample {
    std::uint64_t index;
    rt::nanoseconds late;
};

int main() try {
    using namespace std::chrono_literals;
    auto program = rt::builder().start();
    auto [to, from] = rt::queue<sample>(4096, rt::overflow::drop_newest);
    const auto options = rt::options("stepped", rt::policy::other, 0, 20ms);
    auto task = program.start(options, [&to = to](const rt::cycle &cycle) noexcept {
        (void)to.send({cycle.index(), cycle.lateness()});
    });
    task.join();
} catch (const rt::error &error) {
    return std::fputs(error.what(), stderr), 1;
}
