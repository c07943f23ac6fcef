// The sleepers: a coroutine for each, and a channel of asio to the one that collects.
#include <asio.hpp>
#include <asio/experimental/channel.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "settings.hpp"

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using asio::use_awaitable;

constexpr std::int64_t modulus = 2147483647, factor = 48271, second_ns = 1'000'000'000;
constexpr std::int64_t most_reports = 10;

// A task hands over its number and its lateness.
struct Wake {
    std::int64_t number = 0, late_ns = 0;
};

using Channel = asio::experimental::channel<void(asio::error_code, Wake)>;

awaitable<void> sleeper(std::int64_t number, Clock::time_point instant, Channel& numbers)
{
    asio::steady_timer timer(numbers.get_executor(), instant);
    co_await timer.async_wait(use_awaitable);
    const Wake wake{number, nanoseconds(Clock::now() - instant)};
    co_await numbers.async_send({}, wake, use_awaitable);
}

// The smallest lateness that so many percent do not exceed.
std::int64_t percentile(const std::vector<std::int64_t>& late_ns, std::size_t percent)
{
    return late_ns[(late_ns.size() * percent + 99) / 100 - 1];
}

awaitable<void> collect(std::int64_t tasks, Clock::time_point begin, Channel& numbers)
{
    const auto reports = std::min(tasks, most_reports);
    std::vector<std::int64_t> sorted, late_ns;
    for (std::int64_t i = 0; i < tasks; ++i) {
        const auto wake = co_await numbers.async_receive(use_awaitable);
        sorted.push_back(wake.number);
        late_ns.push_back(wake.late_ns);
        if ((i + 1) * reports / tasks > i * reports / tasks)
            report("::phase name=wake ns=", nanoseconds(Clock::now() - begin));
    }
    std::ranges::sort(sorted);
    std::ranges::sort(late_ns);
    std::int64_t sum = 0, order = 0;
    for (const auto number : sorted) {
        sum += number;
        order = (31 * order + number) % modulus;
    }
    report("::result sum=", sum, " order=", order, " late_p50_ns=", percentile(late_ns, 50), " late_p99_ns=",
           percentile(late_ns, 99), " late_max_ns=", percentile(late_ns, 100));
}

// Waits for a line on stdin, or its end, which is as good, while others run.
awaitable<void> hold(asio::io_context& context)
{
    asio::posix::stream_descriptor input(context, ::dup(0));
    std::string line;
    report("::await name=started");
    try {
        co_await asio::async_read_until(input, asio::dynamic_buffer(line), '\n', use_awaitable);
    } catch (const std::system_error&) {
    }
}

} // namespace

int main(int count, char** arguments)
{
    std::ios::sync_with_stdio(false);
    const Settings settings(count, arguments);
    const auto tasks = settings.whole_number("tasks", 1, 1'000'000);
    const auto seconds = settings.whole_number("seconds", 2, 3600);
    auto number = 1 + settings.whole_number("seed", 0, 4'294'967'295, 0) % (modulus - 1);
    const bool holding = settings.flag("hold");
    settings.whole_number("cores", 1, 1024, 1); // Unused: one thread runs the loop.

    const auto begin = Clock::now();
    const auto last_second = begin + (seconds - 1) * 1s;
    asio::io_context context(1);
    Channel numbers(context); // A rendezvous.
    for (std::int64_t i = 0; i < tasks; ++i) {
        number = factor * number % modulus;
        const auto instant = last_second + std::chrono::nanoseconds(number * second_ns / modulus);
        asio::co_spawn(context, sleeper(number, instant, numbers), asio::detached);
    }
    context.poll(); // Every coroutine runs up to its sleep.
    report("::phase name=start ns=", nanoseconds(Clock::now() - begin));
    if (holding)
        asio::co_spawn(context, hold(context), asio::detached);
    asio::co_spawn(context, collect(tasks, begin, numbers), asio::detached);
    context.run();
}
