defmodule Accounts do
  @moduledoc """
  The accounts: a `GenServer` has all of them, and each unit and each auditor is a `Task` that calls it. With
  sharing=coordinator there is a `GenServer` for each account.
  """

  import Output

  @modulus 2_147_483_647
  @factor 48_271
  @opening_balance 1000
  # A unit reads the clock before and after one of so many transfers.
  @timed 16

  defmodule Bank do
    @moduledoc "Alone has the accounts. Others call it, and wait until it has answered."

    use GenServer

    def open(accounts), do: GenServer.start_link(__MODULE__, accounts)

    def transfer(bank, source, target, amount) do
      GenServer.call(bank, {:transfer, source, target, amount}, :infinity)
    end

    @doc "All balances, by their accounts."
    def balances(bank), do: GenServer.call(bank, :balances, :infinity)

    @impl true
    def init(accounts), do: {:ok, Map.new(0..(accounts - 1), &{&1, 1000})}

    @impl true
    def handle_call({:transfer, source, target, amount}, _, balances) do
      %{^source => from, ^target => to} = balances
      {:reply, :ok, %{balances | source => from - amount, target => to + amount}}
    end

    def handle_call(:balances, _, balances), do: {:reply, balances, balances}
  end

  defmodule Account do
    @moduledoc "Has one account."

    use GenServer

    @impl true
    def init(number), do: {:ok, {number, 1000}}

    @impl true
    def handle_cast({:add, amount, {unit, reference}}, {number, balance}) do
      send(unit, {reference, :added})
      {:noreply, {number, balance + amount}}
    end

    def handle_cast({:tell, {auditor, reference}}, {number, balance}) do
      send(auditor, {reference, number, balance})
      {:noreply, {number, balance}}
    end
  end

  defmodule Coordinator do
    @moduledoc """
    Puts transfers and audits in an order, and hands each on to the accounts that it is about. Messages from one process
    to another keep their order, so every account gets an audit after the transfers before it and before those that come
    later.
    """

    use GenServer

    def open(accounts), do: GenServer.start_link(__MODULE__, accounts)

    @doc "Returns when both accounts have changed."
    def transfer(coordinator, source, target, amount) do
      reference = make_ref()
      GenServer.cast(coordinator, {:transfer, source, target, amount, {self(), reference}})

      for _ <- 1..2 do
        receive do
          {^reference, :added} -> :ok
        end
      end

      :ok
    end

    @doc "All balances, by their accounts."
    def balances(coordinator) do
      reference = make_ref()
      accounts = GenServer.call(coordinator, {:balances, reference}, :infinity)

      Map.new(1..accounts, fn _ ->
        receive do
          {^reference, number, balance} -> {number, balance}
        end
      end)
    end

    @impl true
    def init(accounts) do
      opened = for number <- 0..(accounts - 1), do: elem(GenServer.start_link(Account, number), 1)
      {:ok, List.to_tuple(opened)}
    end

    @impl true
    def handle_cast({:transfer, source, target, amount, from}, accounts) do
      GenServer.cast(elem(accounts, source), {:add, -amount, from})
      GenServer.cast(elem(accounts, target), {:add, amount, from})
      {:noreply, accounts}
    end

    @impl true
    def handle_call({:balances, reference}, {auditor, _}, accounts) do
      for account <- Tuple.to_list(accounts), do: GenServer.cast(account, {:tell, {auditor, reference}})
      {:reply, tuple_size(accounts), accounts}
    end

    @impl true
    def terminate(_, accounts), do: accounts |> Tuple.to_list() |> Enum.each(&GenServer.stop/1)
  end

  defstruct folded: 0, transfers: 0, audits: 0, wrong: 0, seen: [], times: []

  def main do
    given = Settings.read()
    Settings.whole_number(given, "cores", 1..1024, 1)

    sharing = Settings.one_of(given, "sharing", ["owner", "coordinator"])

    problem = %{
      module: if(sharing == "owner", do: Bank, else: Coordinator),
      accounts: Settings.whole_number(given, "accounts", 2..100_000),
      units: Settings.whole_number(given, "units", 1..10_000),
      transfers: Settings.whole_number(given, "transfers", 1..1_000_000),
      auditors: Settings.whole_number(given, "auditors", 1..1000),
      every: Settings.whole_number(given, "every", 1..1_000_000),
      hot: Settings.whole_number(given, "hot", 0..100, 0),
      seed: Settings.whole_number(given, "seed", 0..4_294_967_295, 0)
    }

    hold = Settings.flag?(given, "hold")
    repeats = Settings.whole_number(given, "repeats", 1..3000, 1)
    1..repeats |> Enum.reduce(%Accounts{}, &once(problem, hold and &1 == 1, &2)) |> report_result()
    System.halt(0)
  end

  defp once(problem, hold, books) do
    {:ok, bank} = problem.module.open(problem.accounts)

    if hold do
      report("::await name=opened")
      IO.gets("")
    end

    start = clock()
    # The transfers counted, for all to read.
    counted = :counters.new(1, [:atomics])
    auditing = for _ <- 1..problem.auditors, do: Task.async(fn -> audit(bank, problem, counted, nil) end)
    auditors = auditing |> Enum.map(& &1.pid) |> List.to_tuple()

    worked =
      0..(problem.units - 1)
      |> Enum.map(fn unit -> Task.async(fn -> work(unit, problem, bank, auditors, counted) end) end)
      |> Task.await_many(:infinity)

    Enum.each(auditing, &send(&1.pid, :ended))
    seen = Task.await_many(auditing, :infinity)
    phase("transfer", clock() - start)
    balances = problem.module.balances(bank)
    GenServer.stop(bank)

    %Accounts{
      folded: Enum.reduce(0..(problem.accounts - 1), books.folded, &fold(Map.fetch!(balances, &1), &2)),
      transfers: books.transfers + Enum.sum(Enum.map(worked, &elem(&1, 0))),
      audits: books.audits + Enum.sum(Enum.map(seen, & &1.audits)),
      wrong: books.wrong + Enum.sum(Enum.map(seen, & &1.wrong)),
      seen: seen,
      times: [transfer: Enum.flat_map(worked, &elem(&1, 1)), audit: Enum.flat_map(worked, &elem(&1, 2))]
    }
  end

  defp fold(balance, folded), do: rem(31 * folded + Integer.mod(balance, @modulus), @modulus)

  # Adds up all accounts for each unit that asks.
  defp audit(bank, problem, counted, seen) do
    receive do
      {:audit, from, reference} ->
        total = bank |> problem.module.balances() |> Map.values() |> Enum.sum()
        wrong = if total == problem.accounts * @opening_balance, do: 0, else: 1
        now = :counters.get(counted, 1)
        seen = seen || %{audits: 0, wrong: 0, first: now}
        send(from, {reference, total})
        seen = %{seen | audits: seen.audits + 1, wrong: seen.wrong + wrong}
        audit(bank, problem, counted, Map.put(seen, :last, now))

      :ended ->
        seen || %{audits: 0, wrong: 0, first: 0, last: 0}
    end
  end

  # A unit makes its transfers. After every so many of them it waits for an audit.
  defp work(unit, problem, bank, auditors, counted) do
    work(0, 1 + rem(problem.seed + unit, @modulus - 1), unit, problem, bank, auditors, counted, [], [])
  end

  defp work(made, _, _, %{transfers: made}, _, _, _, times, audits), do: {made, times, audits}

  defp work(made, x, turn, problem, bank, auditors, counted, times, audits) do
    x1 = rem(@factor * x, @modulus)
    x2 = rem(@factor * x1, @modulus)
    x3 = rem(@factor * x2, @modulus)
    source = if rem(div(x1, 1000), 100) < problem.hot, do: 0, else: rem(x2, problem.accounts)
    target = rem(x3, problem.accounts - 1)
    target = if target >= source, do: target + 1, else: target
    begun = if rem(made, @timed) == 0, do: clock()
    :ok = problem.module.transfer(bank, source, target, 1 + rem(x1, 1000))
    times = if begun, do: [clock() - begun | times], else: times

    if rem(made + 1, problem.every) == 0 do
      :counters.add(counted, 1, problem.every)
      begun = clock()
      reference = make_ref()
      send(elem(auditors, rem(turn, tuple_size(auditors))), {:audit, self(), reference})

      receive do
        {^reference, _} -> :ok
      end

      audits = [clock() - begun | audits]
      work(made + 1, x3, turn + 1, problem, bank, auditors, counted, times, audits)
    else
      work(made + 1, x3, turn, problem, bank, auditors, counted, times, audits)
    end
  end

  defp report_result(books) do
    joined = fn key -> Enum.map_join(books.seen, ",", &Map.fetch!(&1, key)) end
    counts = "transfers=#{books.transfers} audits=#{books.audits} wrong=#{books.wrong}"
    times = Enum.map_join(books.times, " ", fn {name, each} -> percentiles(name, each) end)
    seen = "first=#{joined.(:first)} last=#{joined.(:last)}"
    report("::result balances=#{books.folded} #{counts} #{seen} #{times}")
  end

  # The smallest times that so many percent do not exceed; 0 where there is none.
  defp percentiles(name, []), do: percentiles(name, [0])

  defp percentiles(name, times) do
    sorted = times |> Enum.sort() |> List.to_tuple()

    Enum.map_join([p50: 50, p99: 99, max: 100], " ", fn {level, percent} ->
      "#{name}_#{level}_ns=#{elem(sorted, div(tuple_size(sorted) * percent + 99, 100) - 1)}"
    end)
  end
end
