# The ring: a fiber for each unit, a channel between neighbours.

require "./settings"

# Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
def terminator(i) : Int64
  i.to_i64 * (i - 1) // 2
end

# Unit i, one of 1 … N-1.
def relay(trace, i, inbox, outbox) : Nil
  last = terminator(i)
  name = trace ? "unit-#{i}" : ""
  loop do
    value = inbox.receive
    if trace
      STDOUT << (value > last ? ": Proc: #{name}, Seq#: #{i}, Msg#: #{value - last} ..\n" : "* Proc: #{name}, Seq#: #{i}, Msg#: terminate!\n")
    end
    outbox.send value + i
    break if value == last
  end
end

# Unit N's result over all values, including those of earlier rings.
class Evidence
  getter checksum = 0_i64
  getter order = 0_i64

  def add(value : Int64) : Nil
    @checksum += value
    @order = (31_i64 * @order + value) % MODULUS
  end
end

# Unit N.
def receive(trace, n, inbox, arrived, evidence) : Nil
  last = terminator(n)
  name = trace ? "unit-#{n}" : ""
  loop do
    value = inbox.receive
    evidence.add value
    if trace
      STDOUT << (value > last ? "> Proc: #{name}, Seq#: #{n}, Msg#: #{value - last} ..\n" : "@ Proc: #{name}, Seq#: #{n}, ring terminated.\n")
    end
    arrived.try &.send(nil)
    break if value == last
  end
end

def ring(nodes, messages, capacity, token, trace, hold, evidence) : Nil
  start = clock
  first = inbox = Channel(Int64).new(capacity)
  (1_i64...nodes).each do |i|
    outbox = Channel(Int64).new(capacity)
    spawn relay(trace, i, inbox, outbox)
    inbox = outbox
  end
  arrived = token ? Channel(Nil).new : nil
  ended = Channel(Int64).new(1)
  last = inbox
  spawn do
    receive trace, nodes, last, arrived, evidence
    ended.send clock
  end
  # Each fiber runs up to its first receive.
  Fiber.yield
  phase "spawn", clock - start
  wait_for_a_line "spawned" if hold

  start = clock
  (messages - 1).downto(0_i64) do |r|
    first.send r
    arrived.try &.receive
  end
  stop = ended.receive
  phase "relay", stop - start
end

nodes, messages = whole("nodes", least: 2), whole("messages")
own = one_of("capacity", "own", ["own", "0", "1", "30", "1000"])
capacity = own == "own" ? 0 : own.to_i
token = one_of("mode", "pipelined", ["pipelined", "token"]) == "token"
trace, hold = flag?("trace"), flag?("hold")
evidence = Evidence.new
whole("repeats", "1", most: 150_i64).times do |repeat|
  ring nodes, messages, capacity, token, trace, hold && repeat == 0, evidence
end
report "::result checksum=#{evidence.checksum} order=#{evidence.order}"
