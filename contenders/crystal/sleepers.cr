# The sleepers: a fiber for each, which sleeps and hands its number to the main fiber by a channel.

require "./settings"

FACTOR     =         48271_i64
SECOND     = 1_000_000_000_i64
REPORTS    = 10

# A timer may be early by a part of its unit.
def sleeper(number, instant, numbers) : Nil
  while (late = clock - instant) < 0
    sleep (-late).nanoseconds
  end
  numbers.send({number, late})
end

# The smallest lateness that so many percent do not exceed.
def percentile(lateness, percent) : Int64
  lateness[(lateness.size * percent + 99) // 100 - 1]
end

tasks, seconds = whole("tasks", most: 1_000_000_i64), whole("seconds", least: 2, most: 3600_i64)
seed = whole("seed", "0", least: 0, most: 4_294_967_295_i64)
hold = flag?("hold")

begun = clock
numbers = Channel(Tuple(Int64, Int64)).new
number = 1_i64 + seed % (MODULUS - 1)
tasks.times do
  number = FACTOR * number % MODULUS
  spawn sleeper(number, begun + (seconds - 1) * SECOND + number * SECOND // MODULUS, numbers)
end
# Each fiber runs up to its sleep.
Fiber.yield
phase "start", clock - begun
wait_for_a_line "started" if hold

parts = Math.min(REPORTS, tasks)
taken = [] of Int64
lateness = [] of Int64
tasks.times do |count|
  number, late = numbers.receive
  taken << number
  lateness << late
  phase "wake", clock - begun if (count + 1) * parts // tasks > count * parts // tasks
end
lateness.sort!
order = taken.sort!.reduce(0_i64) { |folded, x| (31_i64 * folded + x) % MODULUS }
late = "late_p50_ns=#{percentile lateness, 50} late_p99_ns=#{percentile lateness, 99} late_max_ns=#{lateness.last}"
report "::result sum=#{taken.sum} order=#{order} #{late}"
