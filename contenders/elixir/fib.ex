defmodule Fib do
  @moduledoc "The fibonacci service: a task for each connection."

  # Bytes of a line, its newline included.
  @longest 100
  @grace_ms 1000

  def main do
    # A line that does not fit into the buffer comes without its newline.
    Service.run(Settings.read(), [packet: :line, buffer: @longest], &serve/1)
  end

  defp serve(socket) do
    with {:ok, line} <- :gen_tcp.recv(socket, 0) do
      length = byte_size(line) - 1

      case line do
        <<request::binary-size(length), ?\n>> ->
          with :ok <- :gen_tcp.send(socket, answer(request)), do: serve(socket)

        _ when byte_size(line) < @longest ->
          # The client has closed in the middle of a line.
          :gen_tcp.close(socket)

        _ ->
          _ = :gen_tcp.send(socket, "error: a line may have #{@longest} bytes\n")
          _ = :gen_tcp.shutdown(socket, :write)
          # Closing with bytes unread would reset the connection, and the client might miss the answer.
          drain(socket, System.monotonic_time(:millisecond) + @grace_ms)
      end
    end
  end

  defp drain(socket, until) do
    case :gen_tcp.recv(socket, 0, max(0, until - System.monotonic_time(:millisecond))) do
      {:ok, _} -> drain(socket, until)
      {:error, _} -> :gen_tcp.close(socket)
    end
  end

  # A sign is no digit, but `Integer.parse` takes one.
  defp answer(<<first, _::binary>> = request) when first in ?0..?9 do
    case Integer.parse(request) do
      {n, ""} when n in 1..90 -> "#{fib(n)}\n"
      _ -> refusal()
    end
  end

  defp answer(_), do: refusal()

  defp refusal, do: "error: n must be a whole number from 1 to 90\n"

  defp fib(n) when n <= 2, do: 1
  defp fib(n), do: fib(n - 1) + fib(n - 2)
end
