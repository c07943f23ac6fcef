# frozen_string_literal: true

# The ring: a fiber for each unit, a queue between neighbours.

require "async"
require "async/queue"
require_relative "settings"

# One ring after another.
class Ring
  MODULUS = 2_147_483_647

  def initialize(settings)
    @nodes = settings.whole_number("nodes", 2..Settings::MOST)
    @messages = settings.whole_number("messages", 1..Settings::MOST)
    @capacity = settings.one_of("capacity", "own", "1", "30", "1000", "unbounded")
    @token = settings.one_of("mode", "pipelined", "token") == "token"
    @trace = settings.flag?("trace")
    @checksum = @order = 0
  end

  attr_reader :checksum, :order

  def once(task, hold:)
    start = Settings.clock
    arrived = Async::Queue.new if @token
    first = inbox = new_queue
    units = (1...@nodes).map do |i|
      from, inbox = inbox, new_queue
      start_unit(task, i, from, inbox)
    end
    last = start_last(task, inbox, arrived)
    Settings.report("::phase name=spawn ns=#{Settings.clock - start}")
    if hold
      Settings.report("::await name=spawned")
      $stdin.gets
    end

    start = Settings.clock
    (@messages - 1).downto(0) do |r|
      first.enqueue(r)
      arrived&.dequeue
    end
    stop = last.wait
    Settings.report("::phase name=relay ns=#{stop - start}")
    units.each(&:wait)
  end

  private

  def new_queue
    %w[own unbounded].include?(@capacity) ? Async::Queue.new : Async::LimitedQueue.new(Integer(@capacity))
  end

  # Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
  def terminator(i) = i * (i - 1) / 2

  # Unit i, one of 1 … N-1. A fiber runs at once, up to its first wait.
  def start_unit(task, i, inbox, outbox)
    task.async do |unit|
      terminator = terminator(i)
      loop do
        value = inbox.dequeue
        trace_relay(unit, i, value - terminator) if @trace
        outbox.enqueue(value + i)
        break if value == terminator
      end
    end
  end

  # Unit N: its value is when the last message came.
  def start_last(task, inbox, arrived)
    task.async do |unit|
      terminator = terminator(@nodes)
      loop do
        value = inbox.dequeue
        @checksum += value
        @order = (31 * @order + value) % MODULUS
        trace_last(unit, value - terminator) if @trace
        arrived&.enqueue(true)
        break Settings.clock if value == terminator
      end
    end
  end

  def trace_relay(unit, i, r)
    rest = r.positive? ? "Msg#: #{r} .." : "Msg#: terminate!"
    $stdout.write("#{r.positive? ? ':' : '*'} Proc: #{unit.object_id}, Seq#: #{i}, #{rest}\n")
  end

  def trace_last(unit, r)
    rest = r.positive? ? "Msg#: #{r} .." : "ring terminated."
    $stdout.write("#{r.positive? ? '>' : '@'} Proc: #{unit.object_id}, Seq#: #{@nodes}, #{rest}\n")
  end
end

settings = Settings.new
ring = Ring.new(settings)
hold = settings.flag?("hold")
repeats = settings.whole_number("repeats", 1..3000, 1)
begin
  Async do |task|
    repeats.times { |i| ring.once(task, hold: hold && i.zero?) }
  end.wait
rescue FiberError, NoMemoryError
  Settings.give_up(1, "no more fibers can be started")
end
Settings.report("::result checksum=#{ring.checksum} order=#{ring.order}")
