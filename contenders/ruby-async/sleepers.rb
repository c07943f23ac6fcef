# frozen_string_literal: true

# The sleepers: a fiber for each, and a queue to the one that collects.

require "async"
require "async/queue"
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
    @numbers = Async::Queue.new
    settings.whole_number("cores", 1..1024, 1) # Unused: one thread runs all fibers.
  end

  # A fiber runs at once, up to its first wait.
  def start(task)
    @begin = Settings.clock
    number = 1 + (@seed % (MODULUS - 1))
    @tasks.times do
      number = FACTOR * number % MODULUS
      start_sleeper(task, number, @begin + ((@seconds - 1) * SECOND_NS) + (number * SECOND_NS / MODULUS))
    end
    Settings.report("::phase name=start ns=#{Settings.clock - @begin}")
  end

  def collect
    reports = [REPORTS, @tasks].min
    wakes = Array.new(@tasks) do |i|
      wake = @numbers.dequeue
      if (i + 1) * reports / @tasks > i * reports / @tasks
        Settings.report("::phase name=wake ns=#{Settings.clock - @begin}")
      end
      wake
    end
    report(*wakes.transpose.map(&:sort))
  end

  private

  def start_sleeper(task, number, instant)
    task.async do
      while (late_ns = Settings.clock - instant).negative?
        sleep(-late_ns / 1e9)
      end
      @numbers.enqueue([number, late_ns])
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
Async do |task|
  begin
    sleepers.start(task)
  rescue FiberError, NoMemoryError
    Settings.give_up(1, "no more fibers can be started")
  end
  if hold
    Settings.report("::await name=started")
    # The first task waits for the thread, and the loop goes on.
    Thread.new { $stdin.gets }.join
  end
  sleepers.collect
end
