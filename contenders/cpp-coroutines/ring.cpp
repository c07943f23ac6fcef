// The ring: a coroutine for each unit, a channel of asio between neighbours.
#include <asio.hpp>
#include <asio/experimental/channel.hpp>

#include <memory>
#include <string>
#include <vector>

#include "settings.hpp"

using Channel = asio::experimental::channel<void(asio::error_code, std::int64_t)>;
using asio::awaitable;
using asio::use_awaitable;

namespace {

constexpr std::int64_t modulus = 2147483647;

struct Ring {
    std::int64_t nodes, messages;
    std::size_t capacity;
    bool token, trace;
    // For unit N: over all values, including those of earlier rings.
    std::int64_t checksum = 0, order = 0;
    Clock::time_point arrived_at{};
};

// Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
constexpr std::int64_t terminator(std::int64_t i) { return i * (i - 1) / 2; }

// Unit i, one of 1 … N-1.
awaitable<void> relay(const Ring& ring, std::int64_t i, Channel& inbox, Channel& outbox)
{
    const auto end = terminator(i);
    for (std::int64_t value = -1; value != end;) {
        value = co_await inbox.async_receive(use_awaitable);
        if (ring.trace) {
            const bool last = value == end;
            std::cout << (last ? "* Proc: " : ": Proc: ") << &inbox << ", Seq#: " << i << ", Msg#: "
                      << (last ? "terminate!" : std::to_string(value - end) + " ..") << '\n';
        }
        co_await outbox.async_send({}, value + i, use_awaitable);
    }
}

// Unit N.
awaitable<void> last_unit(Ring& ring, Channel& inbox, Channel& arrived)
{
    const auto end = terminator(ring.nodes);
    for (std::int64_t value = -1; value != end;) {
        value = co_await inbox.async_receive(use_awaitable);
        ring.checksum += value;
        ring.order = (31 * ring.order + value) % modulus;
        if (ring.trace) {
            const bool last = value == end;
            std::cout << (last ? "@ Proc: " : "> Proc: ") << &inbox << ", Seq#: " << ring.nodes
                      << (last ? ", ring terminated." : ", Msg#: " + std::to_string(value - end) + " ..") << '\n';
        }
        if (ring.token)
            co_await arrived.async_send({}, 0, use_awaitable);
    }
    ring.arrived_at = Clock::now();
}

awaitable<void> feed(const Ring& ring, Channel& first, Channel& arrived)
{
    for (auto r = ring.messages - 1; r >= 0; --r) {
        co_await first.async_send({}, r, use_awaitable);
        if (ring.token)
            co_await arrived.async_receive(use_awaitable);
    }
}

void once(Ring& ring, bool hold)
{
    const auto begin = Clock::now();
    asio::io_context context(1);
    Channel arrived(context, 1);
    std::vector<std::unique_ptr<Channel>> inboxes;
    for (std::int64_t i = 1; i <= ring.nodes; ++i)
        inboxes.push_back(std::make_unique<Channel>(context, ring.capacity));
    for (std::int64_t i = 1; i < ring.nodes; ++i)
        asio::co_spawn(context, relay(ring, i, *inboxes[i - 1], *inboxes[i]), asio::detached);
    asio::co_spawn(context, last_unit(ring, *inboxes.back(), arrived), asio::detached);
    context.poll(); // Every unit runs up to its first receive.
    report("::phase name=spawn ns=", nanoseconds(Clock::now() - begin));
    if (hold) {
        report("::await name=spawned");
        std::string line;
        std::getline(std::cin, line);
    }

    const auto start = Clock::now();
    asio::co_spawn(context, feed(ring, *inboxes.front(), arrived), asio::detached);
    context.run();
    report("::phase name=relay ns=", nanoseconds(ring.arrived_at - start));
}

} // namespace

int main(int count, char** arguments)
{
    std::ios::sync_with_stdio(false);
    const Settings settings(count, arguments);
    const auto capacity = settings.one_of("capacity", {"own", "0", "1", "30", "1000"});
    Ring ring{
        .nodes = settings.whole_number("nodes", 2, Settings::most),
        .messages = settings.whole_number("messages", 1, Settings::most),
        // A channel has no places unless it is given some.
        .capacity = capacity == "own" ? 0 : std::stoul(capacity),
        .token = settings.one_of("mode", {"pipelined", "token"}) == "token",
        .trace = settings.flag("trace"),
    };
    const bool hold = settings.flag("hold");
    const auto repeats = settings.whole_number("repeats", 1, 3000, 1);
    for (std::int64_t i = 0; i < repeats; ++i)
        once(ring, hold && i == 0);
    report("::result checksum=", ring.checksum, " order=", ring.order);
}
