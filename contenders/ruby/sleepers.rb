# frozen_string_literal: true

# The sleepers: a thread for each, and a queue to the main thread, which collects.

require_relative "settings"

# All tasks, and the numbers that come from them.
class Sleepers
  MODULUS = 2_147_483_647
  FACTOR = 48_271
  SECOND_NS = 1_000_000_000
  REPORTS = 10

  def initialize(settings)
    @tasks = settings.whole_number("tasks", 1..1_000_000)
    @seconds = settings.whole_number("seconds", 2..3600)
    @seed = settings.whole_number("seed", 0..4_294_967_295, 0)
    @started = Queue.new
    @numbers = Queue.new
    settings.whole_number("cores", 1..1024, 1) # Unused: one thread at a time runs Ruby.
  end

  def start
    @begin = Settings.clock
    number = 1 + (@seed % (MODULUS - 1))
    @tasks.times do
      number = FACTOR * number % MODULUS
      start_sleeper(number, @begin + ((@seconds - 1) * SECOND_NS) + (number * SECOND_NS / MODULUS))
    end
    @tasks.times { @started.pop }
    Settings.report("::phase name=start ns=#{Settings.clock - @begin}")
  end

  def collect
    reports = [REPORTS, @tasks].min
    wakes = Array.new(@tasks) do |i|
      wake = @numbers.pop
      if (i + 1) * reports / @tasks > i * reports / @tasks
        Settings.report("::phase name=wake ns=#{Settings.clock - @begin}")
      end
      wake
    end
    report(*wakes.transpose.map(&:sort))
  end

  private

  def start_sleeper(number, instant)
    Thread.new do
      @started << nil
      while (late_ns = Settings.clock - instant).negative?
        sleep(-late_ns / 1e9)
      end
      @numbers << [number, late_ns]
    end
  end

  def report(numbers, late_ns)
    order = numbers.reduce(0) { |folded, number| ((31 * folded) + number) % MODULUS }
    # The smallest lateness that so many percent do not exceed.
    p50, p99, most = [50, 99, 100].map { |percent| late_ns[(((@tasks * percent) + 99) / 100) - 1] }
    lateness = "late_p50_ns=#{p50} late_p99_ns=#{p99} late_max_ns=#{most}"
    Settings.report("::result sum=#{numbers.sum} order=#{order} #{lateness}")
  end
end

settings = Settings.new
sleepers = Sleepers.new(settings)
hold = settings.flag?("hold")
begin
  sleepers.start
rescue ThreadError
  Settings.give_up(1, "no more threads can be started")
end
if hold
  Settings.report("::await name=started")
  $stdin.gets
end
sleepers.collect
