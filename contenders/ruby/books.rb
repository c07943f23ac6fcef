# frozen_string_literal: true

# What the collector of the restarts knows of its units: each one's next message, its answers and failures.
class Books
  MODULUS = 2_147_483_647
  FACTOR = 48_271

  # Units with messages left in this pass.
  attr_reader :open

  def initialize(units, messages, every, seed)
    @messages = messages
    @failing_below = MODULUS / every
    @numbers = Array.new(units) { |unit| 1 + ((seed + unit) % (MODULUS - 1)) }
    @folds = Array.new(units, 0)
    @sent = Array.new(units, 0)
    # When the message was sent that made the unit fail; nil when it has answered since.
    @failed = Array.new(units)
    @answers = @failures = @fresh = 0
    @times = { "answer" => [], "recovery" => [], "calm" => [] }
  end

  def begin(pass)
    @failing = pass == "failing"
    @others = @times[@failing ? "answer" : "calm"].clear
    @left = Array.new(@numbers.size, @messages)
    @open = @numbers.size
  end

  # The unit's next message, which is sent now: its number, and whether it makes the unit fail.
  def message(unit)
    number = @numbers[unit] = FACTOR * @numbers[unit] % MODULUS
    @left[unit] -= 1
    fails = @failing && number < @failing_below && @left[unit].positive? && !@failed[unit]
    @sent[unit] = Settings.clock
    [number, fails]
  end

  def failed(unit)
    @failures += 1
    @failed[unit] = @sent[unit]
  end

  # Takes an answer, and returns whether the unit has another message.
  def answered?(unit, handled, folded, born)
    take_time(unit, Settings.clock, born)
    @answers += 1
    @folds[unit] = ((31 * @folds[unit]) + folded + handled) % MODULUS
    @open -= 1 if @left[unit].zero?
    @left[unit].positive?
  end

  def report
    order = @folds.reduce(0) { |folded, each| ((31 * folded) + each) % MODULUS }
    times = @times.map { |name, each| percentiles(name, each) }.join(" ")
    Settings.report("::result answers=#{@answers} failures=#{@failures} fresh=#{@fresh} order=#{order} #{times}")
  end

  private

  def take_time(unit, now, born)
    failed = @failed[unit]
    return @others << (now - @sent[unit]) unless failed

    @fresh += 1 if born >= failed
    @times["recovery"] << (now - failed)
    @failed[unit] = nil
  end

  # The smallest times that so many percent do not exceed; 0 where there is none.
  def percentiles(name, times)
    sorted = times.empty? ? [0] : times.sort
    at = ->(percent) { sorted[(((sorted.size * percent) + 99) / 100) - 1] }
    "#{name}_p50_ns=#{at[50]} #{name}_p99_ns=#{at[99]} #{name}_max_ns=#{at[100]}"
  end
end
