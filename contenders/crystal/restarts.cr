# The restarts: a fiber for each unit. The `rescue` of one whose code raised tells the main fiber, which spawns another.

require "./settings"

FACTOR = 48271_i64

class Failure < Exception
end

record Message, number : Int64, fails : Bool
record Answer, unit : Int32, handled : Int64, folded : Int64, born : Int64
record Gone, unit : Int32

# A unit.
def serve(unit, inbox, events) : NoReturn
  born = clock
  handled = folded = 0_i64
  loop do
    message = inbox.receive
    raise Failure.new if message.fails
    handled += 1
    folded = (31_i64 * folded + message.number) % MODULUS
    events.send Answer.new(unit, handled, folded, born)
  end
end

# The channel of a new unit.
def start(unit, events) : Channel(Message)
  inbox = Channel(Message).new
  spawn do
    serve unit, inbox, events
  rescue Failure
    events.send Gone.new(unit)
  end
  inbox
end

# The smallest times that so many percent do not exceed; 0 where there is none.
def percentiles(name, times) : String
  sorted = times.empty? ? [0_i64] : times.sort
  at = ->(percent : Int32) { sorted[(sorted.size * percent + 99) // 100 - 1] }
  "#{name}_p50_ns=#{at.call 50} #{name}_p99_ns=#{at.call 99} #{name}_max_ns=#{at.call 100}"
end

# The collector's knowledge of a unit.
class Served
  property inbox : Channel(Message)
  property number : Int64
  property left = 0_i64
  property folded = 0_i64
  property sent = 0_i64
  # When the message was sent that made it fail, until it has answered since.
  property failed : Int64? = nil

  def initialize(@inbox, @number)
  end
end

class Collector
  @answers = 0_i64
  @failures = 0_i64
  @fresh = 0_i64
  @failing = false
  @answer = [] of Int64
  @recovery = [] of Int64
  @calm = [] of Int64

  def initialize(@messages : Int64, @below : Int64, @units : Array(Served), @events : Channel(Answer | Gone))
  end

  def pass(name) : Nil
    begun = clock
    @failing = name == "failing"
    others.clear
    open = @units.size
    @units.each do |unit|
      unit.left = @messages
      send unit
    end
    while open > 0
      case event = @events.receive
      in Gone
        unit = @units[event.unit]
        @failures += 1
        unit.failed = unit.sent
        unit.inbox = start(event.unit, @events)
        send unit
      in Answer
        unit = @units[event.unit]
        take unit, event
        unit.left > 0 ? send(unit) : (open -= 1)
      end
    end
    phase name, clock - begun
  end

  def report_result : Nil
    order = @units.reduce(0_i64) { |folded, unit| (31_i64 * folded + unit.folded) % MODULUS }
    times = "#{percentiles "answer", @answer} #{percentiles "recovery", @recovery} #{percentiles "calm", @calm}"
    report "::result answers=#{@answers} failures=#{@failures} fresh=#{@fresh} order=#{order} #{times}"
  end

  private def others : Array(Int64)
    @failing ? @answer : @calm
  end

  private def send(unit) : Nil
    unit.number = FACTOR * unit.number % MODULUS
    unit.left -= 1
    fails = @failing && unit.number < @below && unit.left > 0 && unit.failed.nil?
    unit.sent = clock
    unit.inbox.send Message.new(unit.number, fails)
  end

  private def take(unit, answer) : Nil
    now = clock
    if failed = unit.failed
      @fresh += 1 if answer.born >= failed
      @recovery << now - failed
      unit.failed = nil
    else
      others << now - unit.sent
    end
    @answers += 1
    unit.folded = (31_i64 * unit.folded + answer.folded + answer.handled) % MODULUS
  end
end

count = whole("units", most: 100_000_i64)
messages = whole("messages", least: 2, most: 1_000_000_i64)
every = whole("every", least: 2, most: 1_000_000_i64)
seed = whole("seed", "0", least: 0, most: 4_294_967_295_i64)

begun = clock
events = Channel(Answer | Gone).new
units = Array.new(count.to_i) { |unit| Served.new(start(unit, events), 1_i64 + (seed + unit) % (MODULUS - 1)) }
# Each fiber runs up to its first message.
Fiber.yield
phase "start", clock - begun
collector = Collector.new(messages, MODULUS // every, units, events)
{"warm", "failing", "calm"}.each { |name| collector.pass name }
collector.report_result
