# frozen_string_literal: true

# The restarts: a thread for each unit. An exception that leaves a unit ends its thread, whose block tells the collector,
# and that starts another.

require_relative "settings"
require_relative "books"

# The error with which a message makes its unit fail.
class Failure < StandardError; end

# A thread with a queue. It answers with how many numbers it handled since it began, and their fold.
class Unit
  def initialize(unit, events)
    @inbox = Queue.new
    @thread = Thread.new do
      serve(unit, events)
    rescue Failure
      events << [unit]
    end
  end

  def send(message) = @inbox << message

  private

  def serve(unit, events)
    born = Settings.clock
    handled = folded = 0
    loop do
      number, fails = @inbox.pop
      raise Failure if fails

      handled += 1
      folded = ((31 * folded) + number) % Books::MODULUS
      events << [unit, handled, folded, born]
    end
  end
end

# All units and the collector of their answers.
class Restarts
  def initialize(settings)
    @units = settings.whole_number("units", 1..100_000)
    @books = Books.new(
      @units,
      settings.whole_number("messages", 2..1_000_000),
      settings.whole_number("every", 2..1_000_000),
      settings.whole_number("seed", 0..4_294_967_295, 0)
    )
    @events = Queue.new
    settings.whole_number("cores", 1..1024, 1) # Unused: one thread at a time runs Ruby.
  end

  def run
    begin_ns = Settings.clock
    @all = Array.new(@units) { |unit| Unit.new(unit, @events) }
    Settings.report("::phase name=start ns=#{Settings.clock - begin_ns}")
    %w[warm failing calm].each do |name|
      begin_ns = Settings.clock
      @books.begin(name)
      pass
      Settings.report("::phase name=#{name} ns=#{Settings.clock - begin_ns}")
    end
    @books.report
  end

  private

  def pass
    @all.each_with_index { |each, unit| each.send(@books.message(unit)) }
    while @books.open.positive?
      unit, *answer = @events.pop
      if answer.empty?
        @books.failed(unit)
        @all[unit] = Unit.new(unit, @events)
      elsif !@books.answered?(unit, *answer)
        next
      end
      @all[unit].send(@books.message(unit))
    end
  end
end

begin
  Restarts.new(Settings.new).run
rescue ThreadError
  Settings.give_up(1, "no more threads can be started")
end
