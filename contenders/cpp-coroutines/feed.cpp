// The feed: a coroutine for each connection, which reads a request by hand, waits for its timer and writes.
#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <string>

#include "service.hpp"

namespace {

using asio::use_awaitable;

constexpr std::size_t longest_head = 8192, longest_id = 20;

struct Route {
    std::string id{};      // of a feed; empty where the request is for none
    std::string refusal{}; // the status, and fields
};

Route route(std::string_view head)
{
    const auto line = head.substr(0, head.find("\r\n"));
    const auto method = line.substr(0, line.find(' '));
    const auto rest = line.substr(std::min(line.size(), method.size() + 1));
    const auto target = rest.substr(0, rest.find(' '));
    if (!line.ends_with(" HTTP/1.1") || target.empty() || target.size() + 9 != rest.size())
        return {.refusal = "400 Bad Request\r\n"};
    const auto path = target.substr(0, target.find('?'));
    constexpr std::string_view prefix = "/test/";
    if (!path.starts_with(prefix))
        return {.refusal = "404 Not Found\r\n"};
    const auto id = path.substr(prefix.size());
    if (id.empty() || id.size() > longest_id || id.find_first_not_of("0123456789") != id.npos)
        return {.refusal = "404 Not Found\r\n"};
    if (method != "GET")
        return {.refusal = "405 Method Not Allowed\r\nAllow: GET\r\n"};
    return {.id = std::string(id)};
}

std::string chunk(const std::string& message)
{
    char size[16];
    const auto end = std::to_chars(size, size + sizeof size, message.size(), 16).ptr;
    return std::string(size, end) + "\r\n" + message + "\r\n";
}

// Nothing more is asked for while an answer has no end. It ends by an exception when the client closes.
asio::awaitable<void> listen(tcp::socket& client)
{
    char bytes[256];
    for (;;)
        co_await client.async_read_some(asio::buffer(bytes), use_awaitable);
}

asio::awaitable<void> send(tcp::socket& client, const std::string& id, std::chrono::milliseconds interval)
{
    constexpr auto head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
    auto message = head + chunk("Welcome: " + id + "\n");
    co_await asio::async_write(client, asio::buffer(message), use_awaitable);
    asio::steady_timer timer(client.get_executor());
    const auto begin = Clock::now();
    for (std::int64_t k = 1;; ++k) {
        timer.expires_at(begin + k * interval);
        co_await timer.async_wait(use_awaitable);
        message = chunk("Chunk " + std::to_string(k) + " for " + id + "\n");
        co_await asio::async_write(client, asio::buffer(message), use_awaitable);
    }
}

asio::awaitable<std::string> request_of(tcp::socket& client)
{
    std::string head;
    co_await asio::async_read_until(client, asio::dynamic_buffer(head, longest_head), "\r\n\r\n", use_awaitable);
    co_return head;
}

asio::awaitable<void> converse(tcp::socket client, std::chrono::milliseconds interval)
{
    using namespace asio::experimental::awaitable_operators;
    const auto [id, refusal] = route(co_await request_of(client));
    if (!id.empty()) {
        co_await (send(client, id, interval) || listen(client));
        co_return;
    }
    const auto answer = "HTTP/1.1 " + refusal + "Content-Length: 0\r\nConnection: close\r\n\r\n";
    co_await asio::async_write(client, asio::buffer(answer), use_awaitable);
    client.shutdown(tcp::socket::shutdown_send);
    co_await listen(client);
}

} // namespace

int main(int count, char** arguments)
{
    const Settings settings(count, arguments);
    const std::chrono::milliseconds interval(settings.whole_number("interval_ms", 1, 3'600'000, 1000));
    run(settings, [interval](tcp::socket client) { return converse(std::move(client), interval); });
}
