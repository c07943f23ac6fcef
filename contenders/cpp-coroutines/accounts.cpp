// The accounts: a coroutine for each unit and each auditor, on `cores` threads, and a strand, on which alone the balances
// are touched; with sharing=lock-for-each a mutex for each account, with sharing=one-lock one for all.
#include <asio.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "settings.hpp"

namespace {

using asio::use_awaitable;
template <typename Value> using Channel = asio::experimental::concurrent_channel<void(asio::error_code, Value)>;

constexpr std::int64_t modulus = 2147483647, factor = 48271, opening_balance = 1000;
// A unit reads the clock before and after one of so many transfers.
constexpr std::int64_t timed = 16;

struct Problem {
    std::int64_t accounts, units, transfers, auditors, every, hot, seed;
};

// The accounts on a strand.
class Strand {
public:
    static constexpr bool is_awaited = true;

    Strand(asio::thread_pool& pool, std::int64_t accounts)
        : strand_(pool.get_executor()), balances_(static_cast<std::size_t>(accounts), opening_balance)
    {
    }

    asio::awaitable<void> transfer(std::int64_t source, std::int64_t target, std::int64_t amount)
    {
        co_await asio::post(asio::bind_executor(strand_, use_awaitable));
        balances_[static_cast<std::size_t>(source)] -= amount;
        balances_[static_cast<std::size_t>(target)] += amount;
        co_await asio::post(use_awaitable); // Leaves the strand.
    }

    // A consistent copy.
    asio::awaitable<std::vector<std::int64_t>> balances()
    {
        co_await asio::post(asio::bind_executor(strand_, use_awaitable));
        auto copy = balances_;
        co_await asio::post(use_awaitable);
        co_return copy;
    }

private:
    asio::strand<asio::thread_pool::executor_type> strand_;
    std::vector<std::int64_t> balances_;
};

// A mutex for each account. Whoever needs several takes them in the order of the accounts, so that no two wait for each
// other; nobody waits for anything else meanwhile.
class LockForEach {
public:
    static constexpr bool is_awaited = false;

    LockForEach(asio::thread_pool&, std::int64_t accounts) : accounts_(static_cast<std::size_t>(accounts)) {}

    void transfer(std::int64_t source, std::int64_t target, std::int64_t amount)
    {
        auto &from = accounts_[static_cast<std::size_t>(source)], &to = accounts_[static_cast<std::size_t>(target)];
        const std::lock_guard first(source < target ? from.mutex : to.mutex);
        const std::lock_guard second(source < target ? to.mutex : from.mutex);
        from.balance -= amount;
        to.balance += amount;
    }

    std::vector<std::int64_t> balances()
    {
        std::vector<std::int64_t> copy;
        copy.reserve(accounts_.size());
        for (auto& account : accounts_)
            account.mutex.lock();
        for (const auto& account : accounts_)
            copy.push_back(account.balance);
        for (auto& account : accounts_)
            account.mutex.unlock();
        return copy;
    }

private:
    struct Account {
        std::mutex mutex{};
        std::int64_t balance = opening_balance;
    };

    std::vector<Account> accounts_;
};

// One mutex for all accounts.
class OneLock {
public:
    static constexpr bool is_awaited = false;

    OneLock(asio::thread_pool&, std::int64_t accounts)
        : balances_(static_cast<std::size_t>(accounts), opening_balance)
    {
    }

    void transfer(std::int64_t source, std::int64_t target, std::int64_t amount)
    {
        const std::lock_guard lock(mutex_);
        balances_[static_cast<std::size_t>(source)] -= amount;
        balances_[static_cast<std::size_t>(target)] += amount;
    }

    std::vector<std::int64_t> balances()
    {
        const std::lock_guard lock(mutex_);
        return balances_;
    }

private:
    std::mutex mutex_;
    std::vector<std::int64_t> balances_;
};

template <typename Bank> asio::awaitable<std::vector<std::int64_t>> balances_of(Bank& bank)
{
    if constexpr (Bank::is_awaited)
        co_return co_await bank.balances();
    else
        co_return bank.balances();
}

// first, last: how many transfers had been counted at the first audit, and at the last.
struct Auditor {
    Channel<Channel<std::int64_t>*> questions;
    std::int64_t audits = 0, wrong = 0, first = 0, last = 0;

    explicit Auditor(asio::thread_pool& pool) : questions(pool, 100) {}
};

struct Unit {
    std::int64_t made = 0;
    std::vector<std::int64_t> transfer_ns{}, audit_ns{};
};

// Adds up all accounts for each unit that asks.
template <typename Bank>
asio::awaitable<void> audit(Bank& bank, Auditor& self, std::atomic<std::int64_t>& counted)
{
    while (auto* answer = co_await self.questions.async_receive(use_awaitable)) {
        const auto balances = co_await balances_of(bank);
        const auto total = std::accumulate(balances.begin(), balances.end(), std::int64_t{0});
        self.wrong += total != static_cast<std::int64_t>(balances.size()) * opening_balance;
        self.last = counted;
        if (self.audits++ == 0)
            self.first = self.last;
        co_await answer->async_send(asio::error_code{}, total, use_awaitable);
    }
}

// A unit makes its transfers. After every so many of them it waits for an audit.
template <typename Bank>
asio::awaitable<Unit> work(const Problem& problem, std::int64_t number, Bank& bank,
                           const std::vector<std::unique_ptr<Auditor>>& auditors, std::atomic<std::int64_t>& counted)
{
    Unit unit;
    Channel<std::int64_t> answer(co_await asio::this_coro::executor, 1);
    auto x = 1 + (problem.seed + number) % (modulus - 1);
    const auto draw = [&x] { return x = factor * x % modulus; };
    for (auto turn = number; unit.made < problem.transfers;) {
        const auto drawn = draw(), other = draw();
        const auto source = drawn / 1000 % 100 < problem.hot ? 0 : other % problem.accounts;
        auto target = draw() % (problem.accounts - 1);
        target += target >= source;
        const auto begin = unit.made % timed == 0 ? Clock::now() : Clock::time_point{};
        if constexpr (Bank::is_awaited)
            co_await bank.transfer(source, target, 1 + drawn % 1000);
        else
            bank.transfer(source, target, 1 + drawn % 1000);
        if (unit.made % timed == 0)
            unit.transfer_ns.push_back(nanoseconds(Clock::now() - begin));
        if (++unit.made % problem.every == 0) {
            counted += problem.every;
            const auto asked = Clock::now();
            auto& auditor = *auditors[static_cast<std::size_t>(turn++ % problem.auditors)];
            co_await auditor.questions.async_send(asio::error_code{}, &answer, use_awaitable);
            co_await answer.async_receive(use_awaitable);
            unit.audit_ns.push_back(nanoseconds(Clock::now() - asked));
        }
    }
    co_return unit;
}

// The smallest times that so many percent do not exceed; 0 where there is none.
std::string percentiles(const std::string& name, std::vector<std::int64_t> times)
{
    std::sort(times.begin(), times.end());
    const auto at = [&times](std::size_t percent) {
        return std::to_string(times.empty() ? 0 : times[(times.size() * percent + 99) / 100 - 1]);
    };
    return name + "_p50_ns=" + at(50) + " " + name + "_p99_ns=" + at(99) + " " + name + "_max_ns=" + at(100);
}

// The results of all repeats; times and the auditors' counts are of the last.
struct Books {
    std::int64_t folded = 0, made = 0, audits = 0, wrong = 0;
    std::string first, last;
    std::vector<std::int64_t> transfer_ns, audit_ns;
};

template <typename Bank> void once(const Problem& problem, std::size_t cores, bool hold, Books& books)
{
    asio::thread_pool pool(cores);
    Bank bank(pool, problem.accounts);
    if (hold) {
        report("::await name=opened");
        std::string line;
        std::getline(std::cin, line);
    }
    const auto begin = Clock::now();
    std::atomic<std::int64_t> counted = 0;
    std::vector<std::unique_ptr<Auditor>> auditors;
    std::vector<std::future<void>> auditing;
    for (std::int64_t i = 0; i < problem.auditors; ++i) {
        auditors.push_back(std::make_unique<Auditor>(pool));
        auditing.push_back(asio::co_spawn(pool, audit(bank, *auditors.back(), counted), asio::use_future));
    }
    std::vector<std::future<Unit>> working;
    for (std::int64_t i = 0; i < problem.units; ++i)
        working.push_back(asio::co_spawn(pool, work(problem, i, bank, auditors, counted), asio::use_future));
    std::vector<Unit> units;
    for (auto& unit : working)
        units.push_back(unit.get());
    for (auto& auditor : auditors)
        auditor->questions.try_send(asio::error_code{}, nullptr);
    for (auto& auditor : auditing)
        auditor.get();
    report("::phase name=transfer ns=", nanoseconds(Clock::now() - begin));

    for (const auto balance : asio::co_spawn(pool, balances_of(bank), asio::use_future).get())
        books.folded = (31 * books.folded + (balance % modulus + modulus) % modulus) % modulus;
    pool.join();
    books.first = books.last = "";
    for (const auto& auditor : auditors) {
        books.audits += auditor->audits;
        books.wrong += auditor->wrong;
        books.first += (books.first.empty() ? "" : ",") + std::to_string(auditor->first);
        books.last += (books.last.empty() ? "" : ",") + std::to_string(auditor->last);
    }
    books.transfer_ns.clear();
    books.audit_ns.clear();
    for (const auto& unit : units) {
        books.made += unit.made;
        books.transfer_ns.insert(books.transfer_ns.end(), unit.transfer_ns.begin(), unit.transfer_ns.end());
        books.audit_ns.insert(books.audit_ns.end(), unit.audit_ns.begin(), unit.audit_ns.end());
    }
}

} // namespace

int main(int count, char** arguments)
{
    std::ios::sync_with_stdio(false);
    const Settings settings(count, arguments);
    const Problem problem{
        .accounts = settings.whole_number("accounts", 2, 100'000),
        .units = settings.whole_number("units", 1, 10'000),
        .transfers = settings.whole_number("transfers", 1, 1'000'000),
        .auditors = settings.whole_number("auditors", 1, 1000),
        .every = settings.whole_number("every", 1, 1'000'000),
        .hot = settings.whole_number("hot", 0, 100, 0),
        .seed = settings.whole_number("seed", 0, 4'294'967'295, 0),
    };
    const auto cores = static_cast<std::size_t>(settings.whole_number("cores", 1, 1024, 1));
    const auto hold = settings.flag("hold");
    const auto repeats = settings.whole_number("repeats", 1, 3000, 1);
    const auto sharing = settings.one_of("sharing", {"owner", "lock-for-each", "one-lock"});
    const auto run = sharing == "owner" ? once<Strand> : sharing == "one-lock" ? once<OneLock> : once<LockForEach>;
    Books books;
    for (std::int64_t i = 0; i < repeats; ++i)
        run(problem, cores, hold && i == 0, books);
    report("::result balances=", books.folded, " transfers=", books.made, " audits=", books.audits,
           " wrong=", books.wrong, " first=", books.first, " last=", books.last, " ",
           percentiles("transfer", books.transfer_ns), " ", percentiles("audit", books.audit_ns));
}
