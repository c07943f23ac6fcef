defmodule Sleepers do
  @moduledoc "The sleepers: a `Task` for each, and one that collects their numbers."

  import Output

  @modulus 2_147_483_647
  @factor 48_271
  @second_ns 1_000_000_000
  @reports 10

  def main do
    given = Settings.read()
    Settings.whole_number(given, "cores", 1..1024, 1)
    tasks = Settings.whole_number(given, "tasks", 1..1_000_000)
    seconds = Settings.whole_number(given, "seconds", 2..3600)
    seed = Settings.whole_number(given, "seed", 0..4_294_967_295, 0)
    hold = Settings.flag?(given, "hold")

    start = clock()
    main = self()
    collector = Task.async(fn -> collector(tasks, start, main) end)
    start_all(tasks, 1 + rem(seed, @modulus - 1), start + (seconds - 1) * @second_ns, collector.pid)

    receive do
      :started -> phase("start", clock() - start)
    end

    if hold do
      report("::await name=started")
      IO.gets("")
    end

    send(collector.pid, :collect)
    Task.await(collector, :infinity)
    System.halt(0)
  end

  # It knows first that all tasks are about to sleep.
  defp collector(tasks, start, main) do
    Process.flag(:message_queue_data, :off_heap)
    await_started(tasks)
    send(main, :started)

    receive do
      :collect -> :ok
    end

    {numbers, late} = collect(1, tasks, start, [], [])
    report_result(tasks, Enum.sort(numbers), late |> Enum.sort() |> List.to_tuple())
  end

  defp start_all(0, _, _, _), do: :ok

  defp start_all(left, x, last_second, collector) do
    number = rem(@factor * x, @modulus)
    instant = last_second + div(number * @second_ns, @modulus)
    {:ok, _} = Task.start_link(fn -> sleeper(number, instant, collector) end)
    start_all(left - 1, number, last_second, collector)
  end

  defp sleeper(number, instant, collector) do
    send(collector, :started)
    send(collector, {number, sleep_until(instant)})
  end

  # Returns how late it woke. Timers count whole milliseconds.
  defp sleep_until(instant) do
    case clock() - instant do
      late when late >= 0 ->
        late

      early ->
        Process.sleep(div(999_999 - early, 1_000_000))
        sleep_until(instant)
    end
  end

  defp await_started(0), do: :ok

  defp await_started(left) do
    receive do
      :started -> await_started(left - 1)
    end
  end

  defp collect(count, tasks, _, numbers, late) when count > tasks, do: {numbers, late}

  defp collect(count, tasks, start, numbers, late) do
    receive do
      {number, late_ns} ->
        reports = min(@reports, tasks)
        if div(count * reports, tasks) > div((count - 1) * reports, tasks), do: phase("wake", clock() - start)
        collect(count + 1, tasks, start, [number | numbers], [late_ns | late])
    end
  end

  defp report_result(tasks, numbers, late) do
    order = Enum.reduce(numbers, 0, fn number, folded -> rem(31 * folded + number, @modulus) end)
    # The smallest lateness that so many percent do not exceed.
    [p50, p99, most] = Enum.map([50, 99, 100], fn percent -> elem(late, div(tasks * percent + 99, 100) - 1) end)

    report(
      "::result sum=#{Enum.sum(numbers)} order=#{order} late_p50_ns=#{p50} late_p99_ns=#{p99} late_max_ns=#{most}"
    )
  end
end
