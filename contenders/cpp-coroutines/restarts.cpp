// The restarts: a coroutine for each unit. An exception that leaves one reaches the handler that was given to
// `co_spawn`, which tells the collector; that spawns another one.
#include <asio.hpp>
#include <asio/experimental/channel.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "settings.hpp"

namespace {

using asio::awaitable;
using asio::use_awaitable;

constexpr std::int64_t modulus = 2147483647, factor = 48271;

struct Failure : std::runtime_error {
    Failure() : std::runtime_error("a message that makes its unit fail") {}
};

struct Message {
    std::int64_t number = 0;
    bool fails = false;
};

// A message to the collector: an answer, or that a unit failed.
struct Event {
    std::size_t unit = 0;
    bool failed = false;
    std::int64_t handled = 0, folded = 0;
    Clock::time_point born{};
};

using Inbox = asio::experimental::channel<void(asio::error_code, Message)>;
using Events = asio::experimental::channel<void(asio::error_code, Event)>;

// Keeps its inbox: its owner lets go of it when the unit has failed.
awaitable<void> serve(std::size_t unit, std::shared_ptr<Inbox> inbox, Events& events)
{
    const auto born = Clock::now();
    std::int64_t handled = 0, folded = 0;
    for (;;) {
        const auto message = co_await inbox->async_receive(use_awaitable);
        if (message.fails)
            throw Failure();
        ++handled;
        folded = (31 * folded + message.number) % modulus;
        co_await events.async_send({}, Event{unit, false, handled, folded, born}, use_awaitable);
    }
}

// The inbox of a new unit.
std::shared_ptr<Inbox> start(std::size_t unit, Events& events)
{
    auto inbox = std::make_shared<Inbox>(events.get_executor()); // A rendezvous.
    const auto ended = [unit, &events](std::exception_ptr error) {
        try {
            std::rethrow_exception(error);
        } catch (const Failure&) {
            events.async_send({}, Event{unit, true}, asio::detached);
        } catch (const std::system_error&) {
            // Its inbox was closed: this is the end.
        }
    };
    asio::co_spawn(events.get_executor(), serve(unit, inbox, events), ended);
    return inbox;
}

using Times = std::vector<std::int64_t>;

// The smallest times that so many percent do not exceed; 0 where there is none.
std::string percentiles(const std::string& name, Times& times)
{
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) {
        return std::to_string(times.empty() ? 0 : times[(times.size() * percent + 99) / 100 - 1]);
    };
    return name + "_p50_ns=" + at(50) + ' ' + name + "_p99_ns=" + at(99) + ' ' + name + "_max_ns=" + at(100);
}

// The collector's knowledge of a unit.
struct Served {
    std::shared_ptr<Inbox> inbox;
    std::int64_t number, left = 0, folded = 0;
    Clock::time_point sent{};
    // Since the message was sent that made it fail, until it has answered.
    bool has_failed = false;
    Clock::time_point failed{};
};

class Collector {
public:
    Collector(asio::io_context& context, std::size_t units, std::int64_t messages, std::int64_t below,
              std::int64_t seed)
        : events_(context), messages_(messages), below_(below)
    {
        for (std::size_t unit = 0; unit < units; ++unit)
            units_.push_back({start(unit, events_), 1 + (seed + static_cast<std::int64_t>(unit)) % (modulus - 1)});
    }

    awaitable<void> run()
    {
        for (const auto* name : {"warm", "failing", "calm"}) {
            const auto begin = Clock::now();
            co_await pass(name == std::string_view("failing"));
            report("::phase name=", name, " ns=", nanoseconds(Clock::now() - begin));
        }
        std::int64_t order = 0;
        for (const auto& unit : units_) {
            order = (31 * order + unit.folded) % modulus;
            unit.inbox->close();
        }
        report("::result answers=", answers_, " failures=", failures_, " fresh=", fresh_, " order=", order, ' ',
               percentiles("answer", answer_), ' ', percentiles("recovery", recovery_), ' ',
               percentiles("calm", calm_));
    }

private:
    awaitable<void> pass(bool failing)
    {
        failing_ = failing;
        others().clear();
        auto open = units_.size();
        for (auto& unit : units_) {
            unit.left = messages_;
            co_await send(unit);
        }
        while (open > 0) {
            const auto event = co_await events_.async_receive(use_awaitable);
            auto& unit = units_[event.unit];
            if (event.failed) {
                ++failures_;
                unit.has_failed = true;
                unit.failed = unit.sent;
                unit.inbox = start(event.unit, events_);
            } else {
                take(unit, event);
                if (unit.left == 0) {
                    --open;
                    continue;
                }
            }
            co_await send(unit);
        }
    }

    awaitable<void> send(Served& unit)
    {
        unit.number = factor * unit.number % modulus;
        --unit.left;
        const bool fails = failing_ && unit.number < below_ && unit.left > 0 && !unit.has_failed;
        unit.sent = Clock::now();
        co_await unit.inbox->async_send({}, Message{unit.number, fails}, use_awaitable);
    }

    void take(Served& unit, const Event& event)
    {
        const auto now = Clock::now();
        if (unit.has_failed) {
            fresh_ += event.born >= unit.failed;
            recovery_.push_back(nanoseconds(now - unit.failed));
            unit.has_failed = false;
        } else {
            others().push_back(nanoseconds(now - unit.sent));
        }
        ++answers_;
        unit.folded = (31 * unit.folded + event.folded + event.handled) % modulus;
    }

    Times& others() { return failing_ ? answer_ : calm_; }

    Events events_;
    std::int64_t messages_, below_;
    std::vector<Served> units_;
    bool failing_ = false;
    std::int64_t answers_ = 0, failures_ = 0, fresh_ = 0;
    Times answer_, recovery_, calm_;
};

} // namespace

int main(int count, char** arguments)
{
    std::ios::sync_with_stdio(false);
    const Settings settings(count, arguments);
    const auto units = settings.whole_number("units", 1, 100'000);
    const auto messages = settings.whole_number("messages", 2, 1'000'000);
    const auto every = settings.whole_number("every", 2, 1'000'000);
    const auto seed = settings.whole_number("seed", 0, 4'294'967'295, 0);
    settings.whole_number("cores", 1, 1024, 1); // Unused: one thread runs the loop.

    const auto begin = Clock::now();
    asio::io_context context(1);
    Collector collector(context, static_cast<std::size_t>(units), messages, modulus / every, seed);
    context.poll(); // Every unit runs up to its first message.
    report("::phase name=start ns=", nanoseconds(Clock::now() - begin));
    asio::co_spawn(context, collector.run(), asio::detached);
    context.run();
}
