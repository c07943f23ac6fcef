defmodule Settings do
  @moduledoc """
  Reads the arguments, `key=value` each. A value that cannot be used ends the program with status 2 and one line;
  unknown keys are ignored.
  """

  @most 1_000_000_000

  def read do
    Map.new(System.argv(), fn argument ->
      case String.split(argument, "=", parts: 2) do
        [key, value] -> {key, value}
        [key] -> {key, ""}
      end
    end)
  end

  def most, do: @most

  @doc "The value of a key that must be there."
  def whole_number(given, key, range) do
    text = Map.get(given, key, "")

    with true <- text =~ ~r/\A[0-9]{1,18}\z/, number = String.to_integer(text), true <- number in range do
      number
    else
      _ -> refuse(key, "a whole number from #{range.first} to #{range.last}", text)
    end
  end

  def whole_number(given, key, range, default) do
    if Map.has_key?(given, key), do: whole_number(given, key, range), else: default
  end

  @doc "The IPv4 address where a server listens."
  def host(given) do
    text = Map.get(given, "host", "127.0.0.1")

    case text |> String.to_charlist() |> :inet.parse_ipv4strict_address() do
      {:ok, host} -> host
      {:error, :einval} -> refuse("host", "an IPv4 address", text)
    end
  end

  @doc "The first choice is the default."
  def one_of(given, key, [default | _] = choices) do
    if Map.has_key?(given, key), do: needed(given, key, choices), else: default
  end

  def needed(given, key, choices) do
    text = Map.get(given, key, "")
    if text in choices, do: text, else: refuse(key, Enum.join(choices, " or "), text)
  end

  def flag?(given, key), do: one_of(given, key, ["0", "1"]) == "1"

  def refuse(key, wanted, text) do
    give_up(2, "#{key} must be #{wanted}, not #{inspect(text)}")
  end

  @doc "Ends the program at once, with one line."
  def give_up(status, why) do
    IO.puts(:stderr, why)
    System.halt(status)
  end
end

defmodule Output do
  @moduledoc "Protocol lines, and the monotonic clock in nanoseconds."

  def report(line) do
    IO.puts(line)
  rescue
    # Nobody reads any more.
    ErlangError -> System.halt(1)
  end

  def phase(name, ns), do: report("::phase name=#{name} ns=#{ns}")

  def clock, do: System.monotonic_time(:nanosecond)
end
