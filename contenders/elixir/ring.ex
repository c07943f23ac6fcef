defmodule Ring do
  @moduledoc "The ring: a process for each unit, mailboxes between neighbours."

  import Output

  @modulus 2_147_483_647

  def main do
    given = Settings.read()
    most = Settings.most()
    Settings.one_of(given, "capacity", ["own", "unbounded"])

    ring = %{
      nodes: Settings.whole_number(given, "nodes", 2..most),
      messages: Settings.whole_number(given, "messages", 1..most),
      token: Settings.one_of(given, "mode", ["pipelined", "token"]) == "token",
      trace: Settings.flag?(given, "trace")
    }

    hold = Settings.flag?(given, "hold")
    repeats = Settings.whole_number(given, "repeats", 1..3000, 1)

    {checksum, order} =
      Enum.reduce(1..repeats, {0, 0}, fn repeat, evidence -> once(ring, hold and repeat == 1, evidence) end)

    report("::result checksum=#{checksum} order=#{order}")
    System.halt(0)
  end

  # One ring; the evidence goes on from that of the rings before.
  defp once(ring, hold, evidence) do
    start = clock()
    first = spawn_units(ring, evidence)
    phase("spawn", clock() - start)

    if hold do
      report("::await name=spawned")
      IO.gets("")
    end

    start = clock()
    feed(first, ring.messages - 1, ring.token)

    receive do
      {:done, stop, evidence} ->
        phase("relay", stop - start)
        evidence
    end
  end

  # From the last to the first, so that each knows the next one from its birth.
  defp spawn_units(%{nodes: n, token: token, trace: trace}, evidence) do
    feeder = self()
    last = spawn_link(fn -> last_unit(n, feeder, token, trace, evidence) end)

    Enum.reduce((n - 1)..1//-1, last, fn i, next ->
      spawn_link(fn -> relay(i, terminator(i), next, trace) end)
    end)
  end

  defp feed(_first, -1, _token), do: :ok

  defp feed(first, r, token) do
    send(first, r)

    if token do
      receive do
        :arrived -> :ok
      end
    end

    feed(first, r - 1, token)
  end

  # Unit i, one of 1 … N-1.
  defp relay(i, terminator, next, trace) do
    receive do
      ^terminator ->
        if trace, do: IO.puts("* Proc: #{inspect(self())}, Seq#: #{i}, Msg#: terminate!")
        send(next, terminator + i)

      value ->
        if trace, do: IO.puts(": Proc: #{inspect(self())}, Seq#: #{i}, Msg#: #{value - terminator} ..")
        send(next, value + i)
        relay(i, terminator, next, trace)
    end
  end

  # Unit N.
  defp last_unit(n, feeder, token, trace, {checksum, order}) do
    terminator = terminator(n)

    receive do
      value ->
        evidence = {checksum + value, rem(31 * order + value, @modulus)}
        if trace, do: trace_last(n, value - terminator)
        if token, do: send(feeder, :arrived)

        if value == terminator do
          send(feeder, {:done, clock(), evidence})
        else
          last_unit(n, feeder, token, trace, evidence)
        end
    end
  end

  defp trace_last(n, 0), do: IO.puts("@ Proc: #{inspect(self())}, Seq#: #{n}, ring terminated.")
  defp trace_last(n, r), do: IO.puts("> Proc: #{inspect(self())}, Seq#: #{n}, Msg#: #{r} ..")

  # Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
  defp terminator(i), do: div(i * (i - 1), 2)
end
