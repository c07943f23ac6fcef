defmodule Batch do
  @moduledoc "The batch: `Task.async_stream` over a stream of cases."

  import Output

  @largest 100_000
  @most_size 1_000_000
  # Lines are written by so many.
  @chunk 1000

  def main do
    given = Settings.read()
    cores = Settings.whole_number(given, "cores", 1..1024, 1)
    Settings.one_of(given, "capacity", ["own"])
    repeats = Settings.whole_number(given, "repeats", 1..3000, 1)
    path = Map.get(given, "input", "")
    if path == "", do: Settings.refuse("input", "the path of a file", path)

    cases = Enum.sum(for _ <- 1..repeats, do: once(path, cores))
    report("::result cases=#{cases}")
    System.halt(0)
  catch
    {:input, why} -> Settings.give_up(2, "input: #{why}")
  end

  defp once(path, cores) do
    start = clock()
    times = :counters.new(3, [])

    count =
      path
      |> cases(times)
      |> Task.async_stream(&solve/1, max_concurrency: cores, ordered: true, timeout: :infinity)
      |> Stream.chunk_every(@chunk)
      |> Enum.reduce(0, fn answers, count -> write(answers, count, times) end)

    phase("work", clock() - start)
    phase("read", :counters.get(times, 1))
    phase("compute", :counters.get(times, 2))
    phase("write", :counters.get(times, 3))
    count
  end

  # The cases as they stand in the file, with their numbers.
  defp cases(path, times) do
    Stream.resource(
      fn -> open(path) end,
      fn state ->
        begin = clock()
        result = next(state)
        :counters.add(times, 1, clock() - begin)
        result
      end,
      fn {file, _, _} -> File.close(file) end
    )
  end

  defp open(path) do
    with false <- File.dir?(path), {:ok, file} <- :file.open(path, [:read, :raw, :binary, read_ahead: 65_536]) do
      {file, 1, count(file, "the number of cases", 999_999_999_999_999_999)}
    else
      true -> throw({:input, "it is a directory"})
      {:error, reason} -> throw({:input, "it cannot be read: #{reason}"})
    end
  end

  defp next({file, number, count} = state) when number > count do
    case :file.read_line(file) do
      :eof -> {:halt, state}
      _ -> throw({:input, "it goes on after case #{count}, the last"})
    end
  end

  defp next({file, number, count}) do
    size = count(file, "case #{number}: a size", @most_size)
    {[{number, size, line(file, number), line(file, number)}], {file, number + 1, count}}
  end

  defp count(file, what, most) do
    text = line(file, what)

    case Integer.parse(text) do
      {number, ""} when number in 0..most//1 -> number
      _ -> throw({:input, "#{what} must be a whole number from 0 to #{most}"})
    end
  end

  defp line(file, what) do
    case :file.read_line(file) do
      {:ok, text} ->
        length = byte_size(text) - 1

        case text do
          <<line::binary-size(length), ?\n>> -> line
          _ -> throw({:input, "case #{what}: it ends in the middle of a line"})
        end

      :eof ->
        throw({:input, "case #{what}: it ends too early"})

      {:error, reason} ->
        throw({:input, "it cannot be read: #{reason}"})
    end
  end

  # In a task's process: the answer, and the time that it took.
  defp solve({number, size, first, second}) do
    begin = clock()
    upwards = first |> numbers(size, number) |> Enum.sort()
    downwards = second |> numbers(size, number) |> Enum.sort(:desc)
    product = Enum.zip_reduce(upwards, downwards, 0, fn one, other, sum -> sum + one * other end)
    {number, product, clock() - begin}
  catch
    fault -> fault
  end

  defp numbers(text, size, number) do
    numbers = for word <- words(text), do: parse(word, number)
    if length(numbers) != size, do: throw({:input, "case #{number}: a vector must have #{size} numbers"})
    numbers
  end

  defp words(""), do: []
  defp words(text), do: :binary.split(text, " ", [:global])

  defp parse(word, number) do
    case Integer.parse(word) do
      {value, ""} when value in -@largest..@largest -> value
      _ -> throw({:input, "case #{number}: numbers must be from #{-@largest} to #{@largest}"})
    end
  end

  defp write(answers, count, times) do
    begin = clock()

    lines =
      for {:ok, answer} <- answers do
        case answer do
          {:input, _} = fault ->
            throw(fault)

          {number, product, ns} ->
            :counters.add(times, 2, ns)
            "Case ##{number}: #{product}\n"
        end
      end

    IO.write(lines)
    :counters.add(times, 3, clock() - begin)
    count + length(lines)
  end
end
