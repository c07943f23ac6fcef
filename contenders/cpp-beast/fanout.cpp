// The gateway: Beast's server and client, a coroutine for each call.
#include <algorithm>
#include <memory>
#include <vector>

#include "web.hpp"

namespace {

constexpr std::size_t calls = 3;
constexpr unsigned bad_upstream = 400;

struct Upstream {
    std::uint16_t port;
    std::string path;
};

struct Gateway {
    std::string kind;
    std::vector<Upstream> upstreams;
    std::chrono::milliseconds tick, timeout;
    std::int64_t work;
};

std::string sum(std::int64_t work)
{
    std::int64_t total = 0;
    for (std::int64_t i = 1; i < work; ++i) {
        total += i;
        // The compiler must not replace the loop by a formula.
        asm volatile("" : "+r"(total));
    }
    return std::to_string(total) + "\n";
}

// What has come of a request's three units. The connection's strand has it, and waits for its timer.
struct Round {
    asio::steady_timer news;
    std::string pieces{};
    std::size_t missing = calls;

    explicit Round(const asio::any_io_executor& executor) : news(executor) {}
};

asio::awaitable<unsigned> call(beast::tcp_stream& stream, const Upstream& upstream, const std::string& id)
{
    co_await stream.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), upstream.port), use_awaitable);
    http::request<http::empty_body> request(http::verb::get, upstream.path, 11);
    request.set(http::field::host, "127.0.0.1:" + std::to_string(upstream.port));
    if (!id.empty())
        request.set("X-Request-Id", id);
    co_await http::async_write(stream, request, use_awaitable);
    beast::flat_buffer buffer;
    for (;;) {
        http::response_parser<http::string_body> parser;
        parser.body_limit(boost::none);
        co_await http::async_read(stream, buffer, parser, use_awaitable);
        if (const auto status = parser.get().result_int(); status >= 200)
            co_return status;
    }
}

// The status when all of the answer has come; 400 for any failure. One deadline for the whole call.
asio::awaitable<unsigned> status_of(const Gateway& gateway, const Upstream& upstream, const std::string& id)
{
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(gateway.timeout);
    try {
        co_return co_await call(stream, upstream, id);
    } catch (const boost::system::system_error&) {
        co_return bad_upstream;
    }
}

// One of three units, on a strand of its own: another thread may do what it computes.
asio::awaitable<void> unit(const Gateway& gateway, std::size_t number, std::string id, std::shared_ptr<Round> round)
{
    std::string piece;
    if (gateway.kind != "cpu")
        piece = std::to_string(co_await status_of(gateway, gateway.upstreams[number], id));
    if (gateway.kind == "mixed")
        piece += ":";
    if (gateway.kind != "io")
        piece += sum(gateway.work);
    asio::post(round->news.get_executor(), [round, piece = std::move(piece)] {
        round->pieces += piece;
        --round->missing;
        round->news.cancel();
    });
}

asio::awaitable<void> answer(const Gateway& gateway, beast::tcp_stream& stream, const Request& request)
{
    const auto executor = stream.get_executor();
    const auto round = std::make_shared<Round>(executor);
    const auto id = std::string(request["X-Request-Id"]);
    auto& loop = static_cast<asio::io_context&>(executor.context());
    for (std::size_t i = 0; i < calls; ++i)
        asio::co_spawn(asio::make_strand(loop), unit(gateway, i, id, round), asio::detached);
    Body body(stream, request);
    auto written = Clock::now();
    for (bool last = false; !last;) {
        if (round->pieces.empty()) {
            error_code cancelled;
            // Sums have no tick.
            round->news.expires_at(written + (gateway.kind == "cpu" ? std::chrono::hours(1) : gateway.tick));
            co_await round->news.async_wait(asio::redirect_error(use_awaitable, cancelled));
        }
        auto pieces = std::exchange(round->pieces, {});
        if (pieces.empty()) {
            if (gateway.kind == "cpu")
                continue;
            pieces = ".";
        }
        last = !round->missing;
        written = Clock::now();
        co_await body.write(std::move(pieces), last);
    }
}

// http://127.0.0.1:PORT/…
bool read_upstream(std::string_view url, std::vector<Upstream>& upstreams)
{
    constexpr std::string_view prefix = "http://127.0.0.1:";
    if (!url.starts_with(prefix))
        return false;
    Upstream upstream{};
    const auto* const end = url.data() + url.size();
    const auto [rest, error] = std::from_chars(url.data() + prefix.size(), end, upstream.port);
    upstream.path = rest == end ? "/" : std::string(rest, end);
    const bool visible = std::ranges::all_of(upstream.path, [](char c) { return '!' <= c && c <= '~'; });
    upstreams.push_back(upstream);
    return error == std::errc{} && upstream.port && upstream.path[0] == '/' && visible;
}

std::vector<Upstream> upstreams_of(const Settings& settings)
{
    std::vector<Upstream> upstreams;
    bool usable = true;
    std::istringstream urls(settings.text("upstreams"));
    for (std::string url; std::getline(urls, url, ',');)
        usable = read_upstream(url, upstreams) && usable;
    if (!usable || upstreams.size() != calls)
        settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them");
    return upstreams;
}

} // namespace

int main(int count, char** arguments)
{
    const Settings settings(count, arguments);
    const auto milliseconds = [&settings](const char* key, std::int64_t otherwise) {
        return std::chrono::milliseconds(settings.whole_number(key, 1, Settings::most, otherwise));
    };
    Gateway gateway{.kind = settings.needed("kind", {"io", "cpu", "mixed"}),
                    .upstreams = {},
                    .tick = milliseconds("tick_ms", 50),
                    .timeout = milliseconds("timeout_ms", 5000),
                    .work = settings.whole_number("work", 1, Settings::most, 100'000)};
    if (gateway.kind != "cpu")
        gateway.upstreams = upstreams_of(settings);
    run(settings, [&gateway](tcp::socket client) -> asio::awaitable<void> {
        beast::tcp_stream stream(std::move(client));
        co_await converse(stream, [&](const Request& request) -> asio::awaitable<void> {
            if (path_of(request) != "/")
                co_await refuse(stream, http::status::not_found, request.keep_alive());
            else if (request.method() != http::verb::get)
                co_await refuse(stream, http::status::method_not_allowed, request.keep_alive());
            else
                co_await answer(gateway, stream, request);
        });
    });
}
