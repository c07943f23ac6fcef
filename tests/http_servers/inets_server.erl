%% The routes of the other servers here, by inets' httpd. Arguments: an idle time in seconds and, for TLS, a
%% certificate and its key. Prints its port.
-module(inets_server).
-export([main/1, do/1]).
-include_lib("inets/include/httpd.hrl").

main([Idle | Files]) ->
    [{ok, _} = application:ensure_all_started(Name) || Name <- [inets, ssl]],
    Sockets = case Files of
        [] -> {ip_comm, [{nodelay, true}]};
        [Certificate, Key] -> {ssl, [{nodelay, true}, {certfile, Certificate}, {keyfile, Key}]}
    end,
    {ok, Folder} = file:get_cwd(),
    {ok, Server} = inets:start(httpd, [
        {port, 0}, {bind_address, {127, 0, 0, 1}}, {ipfamily, inet}, {server_name, "here"},
        {server_root, Folder}, {document_root, Folder}, {modules, [?MODULE]},
        {keep_alive_timeout, list_to_integer(Idle)}, {socket_type, Sockets}]),
    [{port, Port}] = httpd:info(Server, [port]),
    io:format("~b~n", [Port]),
    receive stop -> ok end.

do(#mod{method = Method, request_uri = Path, entity_body = Sent} = Request) ->
    case Path of
        "/hello" -> reply(Method, 200, "hello");
        "/204" -> reply(Method, 204, "");
        "/304" -> reply(Method, 304, "");
        "/echo" -> reply(Method, 200, Sent);
        "/large" -> reply(Method, 200, lists:duplicate(100000, $x));
        "/bytes" ->
            httpd_response:send_header(Request, 200, [{transfer_encoding, "chunked"}]),
            [httpd_response:send_chunk(Request, [Letter], false) || Letter <- "hello"],
            httpd_response:send_final_chunk(Request, false),
            {proceed, [{response, {already_sent, 200, 5}}]}
    end.

reply(Method, Code, Body) ->
    Head = [{code, Code}, {content_length, integer_to_list(length(Body))}],
    Sent = case Method of "HEAD" -> ""; _ -> Body end,
    {proceed, [{response, {response, Head, Sent}}]}.
