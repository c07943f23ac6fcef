# The accounts: a fiber for each unit and each auditor, all on one thread. A fiber that does not wait is not interrupted,
# so a transfer needs no lock.

require "./settings"

FACTOR          = 48271_i64
OPENING_BALANCE =  1000_i64
# A unit reads the clock before and after one of so many transfers.
TIMED = 16

class Bank
  getter balances : Array(Int64)

  def initialize(accounts)
    @balances = Array(Int64).new(accounts, OPENING_BALANCE)
  end

  def transfer(source, target, amount) : Nil
    @balances[source] -= amount
    @balances[target] += amount
  end
end

# The records of units in one repeat.
class Books
  property counted = 0_i64
  property finished = 0_i64
  getter transfer_ns = [] of Int64
  getter audit_ns = [] of Int64
end

# Adds up all accounts for each unit that asks. `first`, `last`: how many transfers had been counted.
class Auditor
  getter audits = 0_i64
  getter wrong = 0_i64
  getter first = 0_i64
  getter last = 0_i64
  getter questions = Channel(Channel(Int64)).new
  getter done = Channel(Nil).new

  def work(bank, books) : Nil
    while answer = @questions.receive?
      total = bank.balances.dup.sum
      @wrong += 1 if total != bank.balances.size * OPENING_BALANCE
      @last = books.counted
      @first = @last if @audits == 0
      @audits += 1
      answer.send total
    end
    @done.send nil
  end
end

record Problem, accounts : Int64, units : Int64, transfers : Int64, auditors : Int64, every : Int64, hot : Int64,
  seed : Int64

# A unit makes its transfers. After every so many of them it waits for an audit.
def work(unit, problem, bank, books, auditors) : Nil
  x = 1_i64 + (problem.seed + unit) % (MODULUS - 1)
  answer = Channel(Int64).new
  problem.transfers.times do |number|
    x = FACTOR * x % MODULUS
    amount = 1 + x % 1000
    hot = x // 1000 % 100 < problem.hot
    x = FACTOR * x % MODULUS
    source = hot ? 0_i64 : x % problem.accounts
    x = FACTOR * x % MODULUS
    target = x % (problem.accounts - 1)
    target += 1 if target >= source
    if number % TIMED == 0
      begun = clock
      bank.transfer source, target, amount
      books.transfer_ns << clock - begun
    else
      bank.transfer source, target, amount
    end
    books.finished += 1
    if (number + 1) % problem.every == 0
      books.counted += problem.every
      turn = unit + number // problem.every
      begun = clock
      auditors[turn % auditors.size].questions.send answer
      answer.receive
      books.audit_ns << clock - begun
    else
      Fiber.yield
    end
  end
end

# The smallest times that so many percent do not exceed; 0 where there is none.
def percentiles(name, times) : String
  sorted = times.empty? ? [0_i64] : times.sort
  at = ->(percent : Int32) { sorted[(sorted.size * percent + 99) // 100 - 1] }
  "#{name}_p50_ns=#{at.call 50} #{name}_p99_ns=#{at.call 99} #{name}_max_ns=#{at.call 100}"
end

problem = Problem.new(
  accounts: whole("accounts", least: 2, most: 100_000_i64),
  units: whole("units", most: 10_000_i64),
  transfers: whole("transfers", most: 1_000_000_i64),
  auditors: whole("auditors", most: 1000_i64),
  every: whole("every", most: 1_000_000_i64),
  hot: whole("hot", "0", least: 0, most: 100_i64),
  seed: whole("seed", "0", least: 0, most: 4_294_967_295_i64))
hold = flag? "hold"
folded = finished = audits = wrong = 0_i64
repeats = whole("repeats", "1", most: 3000_i64)
repeats.times do |time|
  bank = Bank.new(problem.accounts)
  wait_for_a_line "opened" if hold && time == 0
  begun = clock
  books = Books.new
  auditors = Array.new(problem.auditors) { Auditor.new }
  auditors.each { |auditor| spawn { auditor.work bank, books } }
  done = Channel(Nil).new
  problem.units.times do |unit|
    spawn do
      work unit, problem, bank, books, auditors
      done.send nil
    end
  end
  problem.units.times { done.receive }
  auditors.each do |auditor|
    auditor.questions.close
    auditor.done.receive
  end
  phase "transfer", clock - begun
  # `%` of a negative number is not negative.
  bank.balances.each { |balance| folded = (31_i64 * folded + balance % MODULUS) % MODULUS }
  finished += books.finished
  audits += auditors.sum(&.audits)
  wrong += auditors.sum(&.wrong)
  next unless time == repeats - 1
  counts = "transfers=#{finished} audits=#{audits} wrong=#{wrong}"
  seen = "first=#{auditors.join(',', &.first)} last=#{auditors.join(',', &.last)}"
  times = "#{percentiles "transfer", books.transfer_ns} #{percentiles "audit", books.audit_ns}"
  report "::result balances=#{folded} #{counts} #{seen} #{times}"
end
