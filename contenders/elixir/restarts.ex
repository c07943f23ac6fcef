defmodule Restarts do
  @moduledoc """
  The restarts: a `GenServer` for each unit below a `Supervisor`, which starts a new one where one has ended by an
  error. The process that collects monitors the units, and each tells it when it begins.
  """

  import Output

  @modulus 2_147_483_647
  @factor 48_271

  defmodule Unit do
    @moduledoc "A unit: it counts and folds the numbers that it handled since it began."

    use GenServer

    def start_link({unit, collector}), do: GenServer.start_link(__MODULE__, {unit, collector})

    @impl true
    def init({unit, collector}) do
      send(collector, {:began, unit, self()})
      {:ok, {unit, collector, Output.clock(), 0, 0}}
    end

    @impl true
    def handle_cast({_, true}, _), do: raise("a message that makes its unit fail")

    def handle_cast({number, false}, {unit, collector, born, handled, folded}) do
      folded = rem(31 * folded + number, 2_147_483_647)
      send(collector, {:answer, unit, handled + 1, folded, born})
      {:noreply, {unit, collector, born, handled + 1, folded}}
    end
  end

  # The collector's knowledge of a unit. `failed`: when the message was sent that made it fail, until it has answered
  # since.
  defmodule Book do
    @moduledoc false
    defstruct [:pid, :number, left: 0, folded: 0, sent: 0, failed: nil]
  end

  defstruct [:pass, :messages, :failing_below, :open, :units] ++
              [answers: 0, failures: 0, fresh: 0, answer: [], recovery: [], calm: []]

  def main do
    given = Settings.read()
    Settings.whole_number(given, "cores", 1..1024, 1)
    units = Settings.whole_number(given, "units", 1..100_000)
    messages = Settings.whole_number(given, "messages", 2..1_000_000)
    every = Settings.whole_number(given, "every", 2..1_000_000)
    seed = Settings.whole_number(given, "seed", 0..4_294_967_295, 0)
    # Reports of crashes would take longer than the restarts.
    :ok = :logger.set_primary_config(:level, :none)

    start = clock()
    children = for unit <- 0..(units - 1), do: Supervisor.child_spec({Unit, {unit, self()}}, id: unit)
    # So many restarts in a second are no reason to give up.
    {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one, max_restarts: 1_000_000, max_seconds: 1)
    begun = Map.new(0..(units - 1), &{&1, begun(&1, %Book{number: 1 + rem(seed + &1, @modulus - 1)})})
    phase("start", clock() - start)

    %Restarts{messages: messages, failing_below: div(@modulus, every), units: begun}
    |> pass("warm")
    |> pass("failing")
    |> pass("calm")
    |> report_result()

    System.halt(0)
  end

  defp pass(books, name) do
    start = clock()
    filled = Map.new(books.units, fn {unit, book} -> {unit, %{book | left: books.messages}} end)
    books = %{books | pass: name, open: map_size(filled), units: filled}
    # Times of the previous pass do not count.
    books = if name == "failing", do: books, else: %{books | calm: []}
    done = filled |> Map.keys() |> Enum.reduce(books, &send_next(&2, &1, &2.units[&1])) |> collect()
    phase(name, clock() - start)
    done
  end

  defp collect(%Restarts{open: 0} = books), do: books

  defp collect(books) do
    receive do
      {:answer, unit, handled, folded, born} ->
        books |> answered(unit, books.units[unit], {handled, folded, born}) |> collect()

      {{:down, unit}, _, :process, _, _} ->
        book = books.units[unit]
        failed = begun(unit, %{book | failed: book.sent})
        %{books | failures: books.failures + 1} |> send_next(unit, failed) |> collect()
    end
  end

  defp answered(books, unit, book, {handled, folded, born}) do
    books = take_time(books, clock(), book, born)
    books = %{books | answers: books.answers + 1}
    book = %{book | failed: nil, folded: rem(31 * book.folded + folded + handled, @modulus)}

    if book.left == 0,
      do: %{books | open: books.open - 1, units: %{books.units | unit => book}},
      else: send_next(books, unit, book)
  end

  defp take_time(%Restarts{pass: "failing"} = books, now, %Book{failed: nil, sent: sent}, _),
    do: %{books | answer: [now - sent | books.answer]}

  defp take_time(books, now, %Book{failed: nil, sent: sent}, _),
    do: %{books | calm: [now - sent | books.calm]}

  defp take_time(books, now, %Book{failed: failed}, born) do
    fresh = if born >= failed, do: 1, else: 0
    %{books | fresh: books.fresh + fresh, recovery: [now - failed | books.recovery]}
  end

  defp send_next(books, unit, book) do
    number = rem(@factor * book.number, @modulus)
    may_fail = books.pass == "failing" and book.left > 1 and book.failed == nil
    sent = clock()
    GenServer.cast(book.pid, {number, may_fail and number < books.failing_below})
    %{books | units: %{books.units | unit => %{book | number: number, left: book.left - 1, sent: sent}}}
  end

  # The unit when its process has begun.
  defp begun(unit, book) do
    receive do
      {:began, ^unit, pid} ->
        :erlang.monitor(:process, pid, [{:tag, {:down, unit}}])
        %{book | pid: pid}
    end
  end

  defp report_result(books) do
    order =
      books.units
      |> Enum.sort_by(&elem(&1, 0))
      |> Enum.reduce(0, fn {_, book}, order -> rem(31 * order + book.folded, @modulus) end)

    times = for name <- [:answer, :recovery, :calm], do: percentiles(name, Map.fetch!(books, name))
    counts = "answers=#{books.answers} failures=#{books.failures} fresh=#{books.fresh} order=#{order}"
    report("::result #{counts} #{Enum.join(times, " ")}")
  end

  # The smallest times that so many percent do not exceed; 0 where there is none.
  defp percentiles(name, []), do: percentiles(name, [0])

  defp percentiles(name, times) do
    sorted = times |> Enum.sort() |> List.to_tuple()
    at = fn percent -> elem(sorted, div(tuple_size(sorted) * percent + 99, 100) - 1) end
    "#{name}_p50_ns=#{at.(50)} #{name}_p99_ns=#{at.(99)} #{name}_max_ns=#{at.(100)}"
  end
end
