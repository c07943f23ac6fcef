defmodule Service do
  @moduledoc "How a server begins and ends: the TCP server of Elixir's guide, with a supervised task for each connection."

  @acceptors 16
  @pause_ms 10

  @doc "Calls `serve` with the socket of each connection, until SIGTERM or the end of stdin."
  def run(given, options, serve) do
    :gen_event.swap_handler(:erl_signal_server, {:erl_signal_handler, []}, {Ending, []})
    port = Settings.whole_number(given, "port", 0..65_535, 0)
    Settings.whole_number(given, "cores", 1..1024, 1)

    usual = [:binary, ip: Settings.host(given), active: false, nodelay: true, reuseaddr: true, backlog: 4096]

    case :gen_tcp.listen(port, usual ++ options) do
      {:ok, listener} ->
        {:ok, chosen} = :inet.port(listener)
        acceptors = for n <- 1..@acceptors, do: acceptor(n, listener, serve)

        {:ok, _} =
          Supervisor.start_link([{Task.Supervisor, name: Connections} | acceptors], strategy: :one_for_one)

        Output.report("::ready port=#{chosen}")
        Ending.wait_for_the_end_of_stdin()

      {:error, reason} ->
        Settings.give_up(2, "port must be one that is free, not #{port}: #{reason}")
    end
  end

  defp acceptor(n, listener, serve) do
    Supervisor.child_spec({Task, fn -> accept(listener, serve) end}, id: {:acceptor, n}, restart: :permanent)
  end

  defp accept(listener, serve) do
    case :gen_tcp.accept(listener) do
      {:ok, socket} ->
        {:ok, pid} = Task.Supervisor.start_child(Connections, fn -> serve_when_owned(socket, serve) end)
        _ = :gen_tcp.controlling_process(socket, pid)
        send(pid, :owned)

      {:error, _} ->
        # No descriptor is free: some connection may end.
        Process.sleep(@pause_ms)
    end

    accept(listener, serve)
  end

  defp serve_when_owned(socket, serve) do
    receive do
      :owned -> serve.(socket)
    end
  end
end

defmodule Ending do
  @moduledoc "The end of a server. The usual handler of SIGTERM says something and takes its time."

  @behaviour :gen_event

  def wait_for_the_end_of_stdin do
    case IO.gets("") do
      line when is_binary(line) -> wait_for_the_end_of_stdin()
      _ -> the_end()
    end
  end

  # Without a flush: it would wait for clients that do not read.
  defp the_end, do: :erlang.halt(0, flush: false)

  @impl true
  def init(_), do: {:ok, []}

  @impl true
  def handle_event(:sigterm, _), do: the_end()
  def handle_event(_, state), do: {:ok, state}

  @impl true
  def handle_call(_, state), do: {:ok, :ok, state}
end
