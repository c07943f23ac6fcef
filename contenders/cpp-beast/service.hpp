// How a server begins and ends.
#pragma once

// First: Boost 1.74 uses std::exchange and does not include it.
#include <utility>

#include <boost/asio.hpp>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "settings.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;

// Until it accepts again, where no descriptor is free.
constexpr auto accept_pause = std::chrono::milliseconds(10);

template <typename Serve> asio::awaitable<void> accept_all(tcp::acceptor acceptor, Serve serve)
{
    const auto executor = acceptor.get_executor();
    for (;;) {
        boost::system::error_code error;
        auto client = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            asio::steady_timer timer(executor, accept_pause);
            co_await timer.async_wait(asio::use_awaitable);
            continue;
        }
        client.set_option(tcp::no_delay(true), error);
        // An exception is: the client went away. Its coroutine has ended, and the socket is closed. A strand, since
        // two coroutines may use one socket.
        asio::co_spawn(asio::make_strand(executor), serve(std::move(client)), asio::detached);
    }
}

// Calls `serve` with each connection, a coroutine each, on `cores` threads, until SIGTERM or the end of stdin.
template <typename Serve> [[noreturn]] void run(const Settings& settings, Serve serve)
{
    const auto port = static_cast<std::uint16_t>(settings.whole_number("port", 0, 65535, 0));
    const auto cores = static_cast<int>(settings.whole_number("cores", 1, 1024, 1));
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    asio::io_context context(cores);
    tcp::acceptor acceptor(context);
    try {
        const auto host = settings.text("host");
        const tcp::endpoint endpoint(asio::ip::make_address_v4(host.empty() ? "127.0.0.1" : host), port);
        acceptor.open(endpoint.protocol());
        acceptor.set_option(tcp::acceptor::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen(4096);
    } catch (const boost::system::system_error&) {
        settings.refuse("port", "one that is free");
    }
    // At once, whatever is in progress: not by a handler of the loop.
    std::signal(SIGTERM, [](int) { _exit(0); });
    std::thread([] {
        char bytes[4096];
        while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
        }
        _exit(0);
    }).detach();
    report("::ready port=", acceptor.local_endpoint().port());
    asio::co_spawn(context, accept_all(std::move(acceptor), serve), asio::detached);
    std::vector<std::jthread> threads;
    for (int i = 1; i < cores; ++i)
        threads.emplace_back([&context] { context.run(); });
    context.run();
    _exit(0);
}
