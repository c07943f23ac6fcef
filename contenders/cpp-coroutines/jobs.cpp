// The background jobs: a coroutine for each. The main thread collects the answers, and beats.
#include <asio.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "settings.hpp"

namespace {

using asio::use_awaitable;
using namespace std::chrono_literals;

constexpr std::int64_t modulus = 2147483647, factor = 48271;
constexpr int times_alone = 5;
constexpr auto beat = 10ms;

struct Answer {
    std::int64_t value = 0, place = 0;
    Clock::time_point begin{}, end{};
};

struct Jobs {
    std::string kind;
    std::int64_t count, workers, seed, rounds;
    std::chrono::milliseconds duration;
    int cores;
    bool trace;
    std::int64_t order = 0, beats = 0;

    std::int64_t first(std::int64_t number) const { return 1 + (seed + number) % (modulus - 1); }

    std::int64_t advance(std::int64_t x) const
    {
        for (auto round = kind == "cpu" ? rounds : 1; round > 0; --round)
            x = factor * x % modulus;
        return x;
    }
};

// The other work: a beat that is due 10 ms after the one before, in the main thread.
struct Heart {
    Clock::time_point last, due;
    Clock::duration gap{};
    std::int64_t beats = 0;

    explicit Heart(Clock::time_point now) : last(now), due(now + beat) {}

    template <typename Result> void beat_until(const std::future<Result>& result)
    {
        while (result.wait_until(due) != std::future_status::ready) {
            const auto now = Clock::now();
            if (now < due)
                continue;
            ++beats;
            look_back(now);
            last = now;
            due = now + beat;
        }
    }

    void look_back(Clock::time_point now) { gap = std::max(gap, now - last); }
};

// The channel of places is a semaphore: who has one of its numbers may work.
using Places = asio::experimental::concurrent_channel<void(asio::error_code, std::int64_t)>;

asio::awaitable<Answer> job(const Jobs& jobs, std::int64_t number, Places& places)
{
    Answer answer{.place = co_await places.async_receive(use_awaitable)};
    answer.begin = Clock::now();
    if (jobs.kind == "sleep") {
        asio::steady_timer timer(co_await asio::this_coro::executor, jobs.duration);
        co_await timer.async_wait(use_awaitable);
    }
    answer.value = jobs.advance(jobs.first(number));
    answer.end = Clock::now();
    places.try_send(asio::error_code{}, answer.place);
    co_return answer;
}

void in_background(Jobs& jobs, bool hold)
{
    const auto start = Clock::now();
    asio::thread_pool pool(static_cast<std::size_t>(jobs.cores));
    Places places(pool, static_cast<std::size_t>(jobs.workers));
    for (std::int64_t place = 0; place < jobs.workers; ++place)
        places.try_send(asio::error_code{}, place);
    std::vector<std::future<Answer>> answers;
    for (std::int64_t number = 0; number < jobs.count; ++number)
        answers.push_back(asio::co_spawn(pool, job(jobs, number, places), asio::use_future));
    const auto submitted = Clock::now();
    report("::phase name=submit ns=", nanoseconds(submitted - start));
    Heart heart(submitted);
    if (hold) {
        report("::await name=submitted");
        heart.beat_until(std::async(std::launch::async, [] {
            std::string line;
            std::getline(std::cin, line);
        }));
    }
    for (const auto& answer : answers)
        heart.beat_until(answer);
    const auto end = Clock::now();
    report("::phase name=makespan ns=", nanoseconds(end - start));
    heart.look_back(end);
    pool.join();

    report("::phase name=gap ns=", nanoseconds(heart.gap));
    jobs.beats += heart.beats;
    for (auto& future : answers) {
        const auto answer = future.get();
        jobs.order = (31 * jobs.order + answer.value) % modulus;
        if (jobs.trace)
            report("::span unit=", answer.place, " begin=", nanoseconds(answer.begin - start),
                   " end=", nanoseconds(answer.end - start));
    }
}

} // namespace

int main(int count, char** arguments)
{
    std::ios::sync_with_stdio(false);
    const Settings settings(count, arguments);
    Jobs jobs{
        .kind = settings.needed("kind", {"sleep", "cpu", "noop"}),
        .count = settings.whole_number("jobs", 1, 1'000'000),
        .workers = settings.whole_number("workers", 1, 1024),
        .seed = settings.whole_number("seed", 0, 4'294'967'295, 0),
        .rounds = settings.whole_number("rounds", 1, Settings::most, 1'000'000),
        .duration = std::chrono::milliseconds(settings.whole_number("duration_ms", 0, 3'600'000, 1000)),
        .cores = static_cast<int>(settings.whole_number("cores", 1, 1024, 1)),
        .trace = settings.flag("trace"),
    };
    const bool hold = settings.flag("hold");
    const auto repeats = settings.whole_number("repeats", 1, 3000, 1);
    // Each begins with the answer of the one before; volatile: it is there before the clock is read.
    volatile std::int64_t last = jobs.first(0);
    for (int i = 0; i < times_alone && jobs.kind == "cpu"; ++i) {
        const auto start = Clock::now();
        last = jobs.advance(last);
        report("::phase name=alone ns=", nanoseconds(Clock::now() - start));
    }
    for (std::int64_t i = 0; i < repeats; ++i)
        in_background(jobs, hold && i == 0);
    report("::result answers=", repeats * jobs.count, " order=", jobs.order, " beats=", jobs.beats, " alone=", +last);
}
