defmodule Fanout do
  @moduledoc """
  The gateway: a task for each connection, which reads requests by hand, and a task for each call by `:httpc`, the client
  of OTP.
  """

  @calls 3
  @bad_upstream 400
  # `:httpc` keeps two connections to a host unless told otherwise, and lets calls wait for one another on each.
  @most_sessions 10_000

  def main do
    given = Settings.read()

    gateway = %{
      kind: Settings.needed(given, "kind", ["io", "cpu", "mixed"]),
      tick_ms: Settings.whole_number(given, "tick_ms", 1..Settings.most(), 50),
      timeout_ms: Settings.whole_number(given, "timeout_ms", 1..Settings.most(), 5000),
      work: Settings.whole_number(given, "work", 1..Settings.most(), 100_000)
    }

    units = if gateway.kind == "cpu", do: List.duplicate(nil, @calls), else: upstreams(given)
    {:ok, _} = Application.ensure_all_started(:inets)
    :ok = :httpc.set_options(max_sessions: @most_sessions, max_keep_alive_length: 0)
    Service.run(given, [packet: :http_bin], fn socket -> converse(socket, gateway, units) end)
  end

  defp upstreams(given) do
    text = Map.get(given, "upstreams", "")
    urls = String.split(text, ",")

    usable = ~r"\Ahttp://127\.0\.0\.1:[1-9][0-9]{0,4}(/[!-~]*)?\z"

    if length(urls) == @calls and Enum.all?(urls, &(&1 =~ usable)) do
      Enum.map(urls, &String.to_charlist/1)
    else
      Settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    end
  end

  # --- requests ---

  defp converse(socket, gateway, units) do
    with {:ok, {:http_request, method, target, version}} when version >= {1, 0} <- :gen_tcp.recv(socket, 0),
         {:ok, headers} <- headers(socket, %{keep: version >= {1, 1}, id: nil}) do
      response = %{socket: socket, chunked: version >= {1, 1}, keep: headers.keep, unsent: ""}

      with :ok <- answer(response, method, path(target), headers.id, gateway, units),
           true <- headers.keep do
        converse(socket, gateway, units)
      else
        # The client has gone: the exit takes along the tasks that are linked.
        {:error, _} -> exit(:shutdown)
        _ -> :gen_tcp.close(socket)
      end
    else
      {:ok, {:http_error, "\r\n"}} ->
        converse(socket, gateway, units)

      {:error, _} ->
        :gen_tcp.close(socket)

      _ ->
        _ = short(%{socket: socket, keep: false}, "400 Bad Request", "")
        :gen_tcp.close(socket)
    end
  end

  defp headers(socket, headers) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_header, _, name, _, value}} -> headers(socket, header(name, value, headers))
      {:ok, :http_eoh} -> {:ok, headers}
      {:ok, _} -> :bad
      {:error, reason} -> {:error, reason}
    end
  end

  defp header("X-Request-Id", value, headers), do: %{headers | id: value}
  # A body is not read, so no request can follow it.
  defp header(:"Content-Length", value, headers) when value != "0", do: %{headers | keep: false}
  defp header(:"Transfer-Encoding", _, headers), do: %{headers | keep: false}

  defp header(:Connection, value, headers) do
    if String.downcase(value) == "close", do: %{headers | keep: false}, else: headers
  end

  defp header(_, _, headers), do: headers

  defp path({:abs_path, target}), do: target |> String.split("?", parts: 2) |> hd()
  defp path(_), do: ""

  defp answer(response, :GET, "/", id, gateway, units) do
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n#{framing(response)}#{connection(response)}\r\n"
    tasks = Enum.map(units, fn unit -> Task.async(fn -> piece(gateway, unit, id) end) end)
    tick_ms = if gateway.kind == "cpu", do: :infinity, else: gateway.tick_ms
    gather(%{response | unsent: head}, Map.new(tasks, &{&1.ref, &1}), tick_ms)
  end

  defp answer(response, _, "/", _, _, _), do: short(response, "405 Method Not Allowed", "Allow: GET\r\n")
  defp answer(response, _, _, _, _, _), do: short(response, "404 Not Found", "")

  # --- the three units ---

  defp piece(%{kind: "cpu", work: work}, _, _), do: "#{sum(work)}\n"
  defp piece(%{kind: "io"} = gateway, url, id), do: "#{status(gateway, url, id)}"
  defp piece(%{kind: "mixed"} = gateway, url, id), do: "#{status(gateway, url, id)}:#{sum(gateway.work)}\n"

  # An upstream's status when all of its answer has come; 400 for any failure.
  defp status(%{timeout_ms: timeout_ms}, url, id) do
    headers = if id, do: [{~c"x-request-id", String.to_charlist(id)}], else: []
    options = [timeout: timeout_ms, connect_timeout: timeout_ms, autoredirect: false]

    case :httpc.request(:get, {url, headers}, options, body_format: :binary) do
      {:ok, {{_, status, _}, _, _}} -> status
      {:error, _} -> @bad_upstream
    end
  end

  defp sum(work, i \\ 1, total \\ 0)
  defp sum(work, work, total), do: total
  defp sum(work, i, total), do: sum(work, i + 1, total + i)

  # Each piece when it is there, and a dot for every tick in which nothing was written.
  defp gather(response, tasks, tick_ms) do
    receive do
      {ref, piece} when is_map_key(tasks, ref) ->
        Process.demonitor(ref, [:flush])
        tasks = Map.delete(tasks, ref)
        last? = tasks == %{}

        case write(response, piece, last?) do
          {:ok, _} when last? -> :ok
          {:ok, response} -> gather(response, tasks, tick_ms)
          error -> error
        end
    after
      tick_ms -> with {:ok, response} <- write(response, ".", false), do: gather(response, tasks, tick_ms)
    end
  end

  # --- responses ---

  # A client of HTTP/1.0 knows no chunks: the end of its connection ends the body.
  defp framing(%{chunked: true}), do: "Transfer-Encoding: chunked\r\n"
  defp framing(_), do: ""

  # The head goes out with the first piece.
  defp write(%{chunked: true} = response, piece, last?) do
    size = Integer.to_string(byte_size(piece), 16)
    send_all(response, [response.unsent, size, "\r\n", piece, "\r\n", if(last?, do: "0\r\n\r\n", else: "")])
  end

  defp write(response, piece, _), do: send_all(response, [response.unsent, piece])

  defp send_all(response, data) do
    with :ok <- :gen_tcp.send(response.socket, data), do: {:ok, %{response | unsent: ""}}
  end

  defp short(response, status, headers) do
    :gen_tcp.send(
      response.socket,
      "HTTP/1.1 #{status}\r\nContent-Length: 0\r\n#{headers}#{connection(response)}\r\n"
    )
  end

  defp connection(%{keep: true}), do: ""
  defp connection(_), do: "Connection: close\r\n"
end
