# frozen_string_literal: true

# Reads the arguments, `key=value` each. A value that cannot be used ends the program with status 2 and one line; unknown
# keys are ignored.
class Settings
  MOST = 1_000_000_000

  def initialize(arguments = ARGV)
    @given = arguments.to_h { |argument| argument.partition("=").values_at(0, 2) }
    $stdout.sync = false
  end

  def text(key) = @given.fetch(key, "")

  # With a default the key may be missing.
  def whole_number(key, range, default = nil)
    return default if default && !@given.key?(key)

    number = Integer(text(key), 10) if text(key).match?(/\A[0-9]{1,18}\z/)
    return number if number && range.cover?(number)

    refuse(key, "a whole number from #{range.begin} to #{range.end}")
  end

  # An IPv4 address; the default where the key is missing.
  def address(key, default)
    require "resolv" # Only servers need it.
    value = @given.fetch(key, default)
    value.match?(Resolv::IPv4::Regex) ? value : refuse(key, "an IPv4 address")
  end

  def needed(key, *choices)
    choices.include?(text(key)) ? text(key) : refuse(key, choices.join(" or "))
  end

  def refuse(key, wanted)
    Settings.give_up(2, "#{key} must be #{wanted}, not #{text(key).inspect}")
  end

  # Ends the program at once, with one line.
  def self.give_up(status, why)
    $stderr.puts(why)
    exit!(status)
  end

  # Writes a protocol line at once.
  def self.report(line)
    $stdout.puts(line)
    $stdout.flush
  rescue SystemCallError
    give_up(1, "cannot write to stdout")
  end

  def self.clock = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end
