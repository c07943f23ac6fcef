// The fibonacci service: a coroutine for each connection. It computes in the loop's threads.
#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <string>

#include "service.hpp"

namespace {

using asio::use_awaitable;

constexpr std::size_t longest = 100; // bytes of a line, its newline included
constexpr auto grace = std::chrono::seconds(1);

std::int64_t fib(std::int64_t n) { return n <= 2 ? 1 : fib(n - 1) + fib(n - 2); }

std::string answer(std::string_view line)
{
    std::int64_t n = 0;
    const bool digits = !line.empty() && std::ranges::all_of(line, [](char c) { return '0' <= c && c <= '9'; });
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), n);
    if (!digits || error != std::errc{} || n < 1 || n > 90)
        return "error: n must be a whole number from 1 to 90\n";
    return std::to_string(fib(n)) + "\n";
}

asio::awaitable<void> drain(tcp::socket& client)
{
    char bytes[4096];
    for (;;)
        co_await client.async_read_some(asio::buffer(bytes), use_awaitable);
}

// Answers one client's requests until it closes, which is an exception.
asio::awaitable<void> converse(tcp::socket client)
{
    using namespace asio::experimental::awaitable_operators;
    std::string text;
    for (;;) {
        asio::error_code error;
        const auto size = co_await asio::async_read_until(client, asio::dynamic_buffer(text, longest), '\n',
                                                          asio::redirect_error(use_awaitable, error));
        if (error == asio::error::not_found) {
            co_await asio::async_write(client, asio::buffer("error: a line may have 100 bytes\n", 33), use_awaitable);
            client.shutdown(tcp::socket::shutdown_send);
            // Closing with bytes unread would reset the connection, and the client might miss the answer.
            asio::steady_timer timer(client.get_executor(), grace);
            co_await (drain(client) || timer.async_wait(use_awaitable));
            co_return;
        }
        if (error)
            co_return;
        const auto reply = answer(std::string_view(text).substr(0, size - 1));
        text.erase(0, size);
        co_await asio::async_write(client, asio::buffer(reply), use_awaitable);
    }
}

} // namespace

int main(int count, char** arguments) { run(Settings(count, arguments), converse); }
