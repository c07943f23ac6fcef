// The feed: a coroutine for each connection waits for its timer and writes; a second one reads, and so hears when the
// client closes.
#include <memory>

#include "web.hpp"

namespace {

// Shared by both coroutines of a connection. They run on one strand.
struct Feed {
    beast::tcp_stream stream;
    asio::steady_timer timer;

    explicit Feed(tcp::socket client) : stream(std::move(client)), timer(stream.get_executor()) {}
};

// Nothing more is asked for while an answer has no end.
asio::awaitable<void> listen(std::shared_ptr<Feed> feed)
{
    char bytes[256];
    for (error_code error; !error;)
        co_await feed->stream.async_read_some(asio::buffer(bytes), asio::redirect_error(use_awaitable, error));
    feed->stream.close();
    feed->timer.cancel();
}

asio::awaitable<void> send(Feed& feed, const Request& request, std::string id, std::chrono::milliseconds interval)
{
    Body body(feed.stream, request);
    co_await body.write("Welcome: " + id + "\n", false);
    const auto begin = Clock::now();
    for (std::int64_t k = 1;; ++k) {
        feed.timer.expires_at(begin + k * interval);
        co_await feed.timer.async_wait(use_awaitable);
        co_await body.write("Chunk " + std::to_string(k) + " for " + id + "\n", false);
    }
}

// The id that a path names; empty where it is another path.
std::string id_in(const std::string& path)
{
    constexpr std::string_view prefix = "/test/";
    if (!path.starts_with(prefix))
        return {};
    auto id = path.substr(prefix.size());
    return id.size() > 20 || id.find_first_not_of("0123456789") != id.npos ? std::string() : id;
}

} // namespace

int main(int count, char** arguments)
{
    const Settings settings(count, arguments);
    const std::chrono::milliseconds interval(settings.whole_number("interval_ms", 1, 3'600'000, 1000));
    run(settings, [interval](tcp::socket client) -> asio::awaitable<void> {
        const auto feed = std::make_shared<Feed>(std::move(client));
        co_await converse(feed->stream, [&feed, interval](const Request& request) -> asio::awaitable<void> {
            const auto id = id_in(path_of(request));
            if (id.empty())
                co_await refuse(feed->stream, http::status::not_found, request.keep_alive());
            else if (request.method() != http::verb::get)
                co_await refuse(feed->stream, http::status::method_not_allowed, request.keep_alive());
            else {
                asio::co_spawn(feed->stream.get_executor(), listen(feed), asio::detached);
                co_await send(*feed, request, id, interval);
            }
        });
    });
}
