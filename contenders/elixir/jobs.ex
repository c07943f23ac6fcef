defmodule Jobs do
  @moduledoc "The background jobs: `Task.Supervisor.async_stream`; a process with the other work."

  import Output

  @modulus 2_147_483_647
  @times_alone 5
  @beat_ms 10

  def main do
    given = Settings.read()
    Settings.whole_number(given, "cores", 1..1024, 1)

    jobs = %{
      count: Settings.whole_number(given, "jobs", 1..1_000_000),
      work: work(Settings.needed(given, "kind", ["sleep", "cpu", "noop"]), given),
      workers: Settings.whole_number(given, "workers", 1..1024),
      seed: Settings.whole_number(given, "seed", 0..4_294_967_295, 0),
      trace: Settings.flag?(given, "trace")
    }

    hold = Settings.flag?(given, "hold")
    repeats = Settings.whole_number(given, "repeats", 1..3000, 1)

    last = alone(given["kind"], jobs)

    {order, beats} =
      Enum.reduce(1..repeats, {0, 0}, fn repeat, evidence -> once(jobs, hold and repeat == 1, evidence) end)

    report("::result answers=#{repeats * jobs.count} order=#{order} beats=#{beats} alone=#{last}")
    System.halt(0)
  end

  # Each begins with the answer of the one before.
  defp alone("cpu", jobs) do
    Enum.reduce(1..@times_alone, first(jobs.seed, 0), fn _, x ->
      start = clock()
      answer = jobs.work.(x)
      phase("alone", clock() - start)
      answer
    end)
  end

  defp alone(_, jobs), do: first(jobs.seed, 0)

  # All jobs, once; the evidence goes on.
  defp once(jobs, hold, {order, beats}) do
    start = clock()
    main = self()
    {:ok, supervisor} = Task.Supervisor.start_link()
    # The stream hands a job over when there is a place: it has a process of its own, and this one can wait for it.
    gathering =
      Task.async(fn ->
        places = places(jobs.workers)

        supervisor
        |> Task.Supervisor.async_stream(
          0..(jobs.count - 1),
          fn number -> job(jobs, number, places) end,
          max_concurrency: jobs.workers,
          ordered: true,
          timeout: :infinity
        )
        |> Enum.map(fn {:ok, answer} -> answer end)
      end)

    submitted = clock()
    phase("submit", submitted - start)
    heart = spawn_link(fn -> heart(main, submitted, 0, 0) end)

    if hold do
      report("::await name=submitted")
      IO.gets("")
    end

    answers = Task.await(gathering, :infinity)
    stop = clock()
    phase("makespan", stop - start)
    send(heart, {:stop, stop})

    {made, gap} =
      receive do
        {:beats, made, gap} -> {made, gap}
      end

    Supervisor.stop(supervisor)
    phase("gap", gap)

    order =
      Enum.reduce(answers, order, fn {value, place, began, ended}, order ->
        if jobs.trace, do: report("::span unit=#{place} begin=#{began - start} end=#{ended - start}")
        rem(31 * order + value, @modulus)
      end)

    {order, beats + made}
  end

  defp job(jobs, number, places) do
    place = take(places)
    began = clock()
    value = jobs.work.(first(jobs.seed, number))
    ended = clock()
    :atomics.put(places, place, 0)
    {value, place - 1, began, ended}
  end

  # The numbers of the places, for spans: an atomic for each. There is always one that is free.
  defp places(count), do: :atomics.new(count, [])

  defp take(places), do: take(places, 1, :atomics.info(places).size)

  defp take(places, place, count) do
    case :atomics.compare_exchange(places, place, 0, 1) do
      :ok -> place
      _ -> take(places, rem(place, count) + 1, count)
    end
  end

  # The number that job i begins with.
  defp first(seed, i), do: 1 + rem(seed + i, @modulus - 1)

  defp work(kind, given) do
    duration = Settings.whole_number(given, "duration_ms", 0..3_600_000, 1000)
    rounds = Settings.whole_number(given, "rounds", 1..Settings.most(), 1_000_000)

    case kind do
      "sleep" ->
        fn x ->
          Process.sleep(duration)
          advance(x, 1)
        end

      "cpu" ->
        fn x -> advance(x, rounds) end

      "noop" ->
        fn x -> advance(x, 1) end
    end
  end

  defp advance(x, 0), do: x
  defp advance(x, rounds), do: advance(rem(48_271 * x, @modulus), rounds - 1)

  # A beat that is due 10 ms after the one before.
  defp heart(main, last, gap, beats) do
    receive do
      {:stop, stop} -> send(main, {:beats, beats, max(gap, stop - last)})
    after
      @beat_ms ->
        now = clock()
        heart(main, now, max(gap, now - last), beats + 1)
    end
  end
end
