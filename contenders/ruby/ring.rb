# frozen_string_literal: true

# The ring: a thread for each unit, a queue between neighbours.

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

  def once(hold:)
    start = Settings.clock
    arrived = Queue.new if @token
    first = inbox = new_queue
    units = (1...@nodes).map do |i|
      from, inbox = inbox, new_queue
      start_unit(i, from, inbox)
    end
    last = start_last(inbox, arrived)
    Settings.report("::phase name=spawn ns=#{Settings.clock - start}")
    if hold
      Settings.report("::await name=spawned")
      $stdin.gets
    end

    start = Settings.clock
    (@messages - 1).downto(0) do |r|
      first.push(r)
      arrived&.pop
    end
    stop = last.value
    Settings.report("::phase name=relay ns=#{stop - start}")
    units.each(&:join)
  end

  private

  def new_queue
    %w[own unbounded].include?(@capacity) ? Queue.new : SizedQueue.new(Integer(@capacity))
  end

  # Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
  def terminator(i) = i * (i - 1) / 2

  # Unit i, one of 1 … N-1.
  def start_unit(i, inbox, outbox)
    Thread.new do
      terminator = terminator(i)
      loop do
        value = inbox.pop
        trace_relay(i, value - terminator) if @trace
        outbox.push(value + i)
        break if value == terminator
      end
    end
  end

  # Unit N: its value is when the last message came.
  def start_last(inbox, arrived)
    Thread.new do
      terminator = terminator(@nodes)
      loop do
        value = inbox.pop
        @checksum += value
        @order = (31 * @order + value) % MODULUS
        trace_last(value - terminator) if @trace
        arrived&.push(true)
        break Settings.clock if value == terminator
      end
    end
  end

  def trace_relay(i, r)
    rest = r.positive? ? "Msg#: #{r} .." : "Msg#: terminate!"
    $stdout.write("#{r.positive? ? ':' : '*'} Proc: #{Thread.current.object_id}, Seq#: #{i}, #{rest}\n")
  end

  def trace_last(r)
    rest = r.positive? ? "Msg#: #{r} .." : "ring terminated."
    $stdout.write("#{r.positive? ? '>' : '@'} Proc: #{Thread.current.object_id}, Seq#: #{@nodes}, #{rest}\n")
  end
end

settings = Settings.new
ring = Ring.new(settings)
hold = settings.flag?("hold")
repeats = settings.whole_number("repeats", 1..3000, 1)
begin
  repeats.times { |i| ring.once(hold: hold && i.zero?) }
rescue ThreadError
  Settings.give_up(1, "no more threads can be started")
end
Settings.report("::result checksum=#{ring.checksum} order=#{ring.order}")
