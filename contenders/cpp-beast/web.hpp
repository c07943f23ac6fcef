// Shared by both servers: HTTP.
#pragma once

#include "service.hpp"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <sstream>
#include <string>

namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using boost::system::error_code;
using Request = http::request<http::string_body>;

inline std::string path_of(const Request& request)
{
    const auto target = request.target();
    return std::string(target.substr(0, target.find('?')));
}

// A body that is sent as it grows. The head goes out with its first piece.
class Body {
public:
    Body(beast::tcp_stream& stream, const Request& request) : stream_(stream), chunked_(request.version() >= 11)
    {
        http::response<http::empty_body> response(http::status::ok, 11);
        response.set(http::field::content_type, "text/plain");
        // A client of HTTP/1.0 knows no chunks: the end of its connection ends the body.
        response.chunked(chunked_);
        response.keep_alive(request.keep_alive() && chunked_);
        std::ostringstream text;
        text << response.base();
        head_ = text.str();
    }

    asio::awaitable<void> write(std::string piece, bool last)
    {
        const auto head = std::exchange(head_, {});
        const auto data = asio::buffer(piece);
        if (!chunked_)
            co_await asio::async_write(stream_, beast::buffers_cat(asio::buffer(head), data), use_awaitable);
        else if (last)
            co_await asio::async_write(
                stream_, beast::buffers_cat(asio::buffer(head), http::make_chunk(data), http::make_chunk_last()),
                use_awaitable);
        else
            co_await asio::async_write(stream_, beast::buffers_cat(asio::buffer(head), http::make_chunk(data)),
                                       use_awaitable);
    }

private:
    beast::tcp_stream& stream_;
    bool chunked_;
    std::string head_;
};

inline asio::awaitable<void> refuse(beast::tcp_stream& stream, http::status status, bool keep)
{
    http::response<http::empty_body> response(status, 11);
    if (status == http::status::method_not_allowed)
        response.set(http::field::allow, "GET");
    response.keep_alive(keep);
    response.prepare_payload();
    response.content_length(0);
    co_await http::async_write(stream, response, use_awaitable);
}

// Calls `answer` with each request of a connection, until its end, which is an exception.
template <typename Answer> asio::awaitable<void> converse(beast::tcp_stream& stream, Answer answer)
{
    beast::flat_buffer buffer;
    for (bool keep = true; keep;) {
        Request request;
        error_code error;
        co_await http::async_read(stream, buffer, request, asio::redirect_error(use_awaitable, error));
        if (error && error.category() == http::make_error_code(http::error::end_of_stream).category() &&
            error != http::error::end_of_stream && error != http::error::partial_message) {
            co_await refuse(stream, http::status::bad_request, false);
            break;
        }
        if (error)
            co_return;
        keep = request.keep_alive();
        co_await answer(request);
    }
    stream.socket().shutdown(tcp::socket::shutdown_send);
}
