# frozen_string_literal: true

# The accounts: a fiber for each unit and each auditor. A fiber that does not wait is not interrupted, so a transfer needs
# no lock. With `sharing=coordinator` there is a fiber for each account too.

require "async"
require "async/barrier"
require "async/queue"
require_relative "settings"

OPENING_BALANCE = 1000
MODULUS = 2_147_483_647
FACTOR = 48_271
# A unit reads the clock before and after one of so many transfers.
TIMED = 16

# The balances. Nothing else runs between two waits of a fiber.
class Bank
  def initialize(_, accounts)
    @balances = Array.new(accounts, OPENING_BALANCE)
  end

  def transfer(source, target, amount)
    @balances[source] -= amount
    @balances[target] += amount
  end

  def balances = @balances.dup
  # Between two transfers a unit lets the others run.
  def give_way(task) = task.yield
  def close = nil
end

# A fiber for each account, and one that hands each transfer and audit on to those that it is about. Queues keep their
# order, so every account gets an audit after the transfers before it and before those that come later.
class Coordinator
  def initialize(task, accounts)
    @accounts = Array.new(accounts) { Async::Queue.new }
    @accounts.each_with_index { |steps, account| task.async { own(account, steps) } }
    @orders = Async::Queue.new
    task.async { hand_on }
  end

  # Returns when both accounts have changed.
  def transfer(source, target, amount)
    @orders.enqueue([answers, source, target, amount])
    2.times { answers.dequeue }
  end

  def balances
    @orders.enqueue([answers])
    balances = []
    @accounts.size.times do
      account, balance = answers.dequeue
      balances[account] = balance
    end
    balances
  end

  # A unit waits in each transfer.
  def give_way(_) = nil

  def close = @orders.enqueue(nil)

  private

  # From the fiber that asks.
  def answers = Thread.current[:answers] ||= Async::Queue.new

  def hand_on
    while (order = @orders.dequeue)
      answers, source, target, amount = order
      if amount
        @accounts[source].enqueue([answers, -amount])
        @accounts[target].enqueue([answers, amount])
      else
        @accounts.each { |account| account.enqueue([answers, 0]) }
      end
    end
    @accounts.each { |account| account.enqueue(nil) }
  end

  def own(account, steps)
    balance = OPENING_BALANCE
    while (step = steps.dequeue)
      answers, amount = step
      balance += amount
      answers.enqueue([account, balance])
    end
  end
end

# The records of units in one repeat.
Books = Struct.new(:counted, :finished, :transfer_ns, :audit_ns)

# Adds up all accounts for each unit that asks.
class Auditor
  attr_reader :audits, :wrong, :first, :last

  def initialize
    @questions = Async::Queue.new
    @audits = @wrong = @first = @last = 0
  end

  # The answer comes through that queue; nil ends the auditor.
  def ask(answer) = @questions.enqueue(answer)

  def work(bank, accounts, books)
    while (answer = @questions.dequeue)
      total = bank.balances.sum
      @wrong += 1 unless total == accounts * OPENING_BALANCE
      @last = books.counted
      @first = @last if @audits.zero?
      @audits += 1
      answer.enqueue(total)
    end
  end
end

# The arguments, the units, and what all repeats come to.
class Accounts
  def initialize(settings)
    @accounts = settings.whole_number("accounts", 2..100_000)
    @units = settings.whole_number("units", 1..10_000)
    @transfers = settings.whole_number("transfers", 1..1_000_000)
    @auditors = settings.whole_number("auditors", 1..1000)
    @every = settings.whole_number("every", 1..1_000_000)
    @hot = settings.whole_number("hot", 0..100, 0)
    @seed = settings.whole_number("seed", 0..4_294_967_295, 0)
    @repeats = settings.whole_number("repeats", 1..3000, 1)
    @hold = settings.flag?("hold")
    @bank = settings.one_of("sharing", "one-thread", "coordinator") == "one-thread" ? Bank : Coordinator
    settings.whole_number("cores", 1..1024, 1) # Unused: one thread runs all fibers.
    @folded = @finished = @audits = @wrong = 0
  end

  def run
    books = auditors = nil
    @repeats.times { books, auditors = once }
    counts = "transfers=#{@finished} audits=#{@audits} wrong=#{@wrong}"
    seen = "first=#{auditors.map(&:first).join(",")} last=#{auditors.map(&:last).join(",")}"
    times = "#{percentiles("transfer", books.transfer_ns)} #{percentiles("audit", books.audit_ns)}"
    Settings.report("::result balances=#{@folded} #{counts} #{seen} #{times}")
  end

  private

  def once
    books = Books.new(0, 0, [], [])
    auditors = Array.new(@auditors) { Auditor.new }
    Sync do |task|
      bank = @bank.new(task, @accounts)
      hold if @hold
      begin_ns = Settings.clock
      all(task, bank, books, auditors)
      Settings.report("::phase name=transfer ns=#{Settings.clock - begin_ns}")
      bank.balances.each { |balance| @folded = ((31 * @folded) + (balance % MODULUS)) % MODULUS }
      bank.close
    end
    @finished += books.finished
    @audits += auditors.sum(&:audits)
    @wrong += auditors.sum(&:wrong)
    [books, auditors]
  end

  def hold
    @hold = false
    Settings.report("::await name=opened")
    $stdin.gets
  end

  def all(task, bank, books, auditors)
    auditing = auditors.map { |auditor| task.async { auditor.work(bank, @accounts, books) } }
    units = Async::Barrier.new(parent: task)
    @units.times { |unit| units.async { |self_| work(self_, unit, bank, books, auditors) } }
    units.wait
    auditors.each { |auditor| auditor.ask(nil) }
    auditing.each(&:wait)
  end

  # A unit makes its transfers. After every so many of them it waits for an audit.
  def work(task, unit, bank, books, auditors)
    answer = Async::Queue.new
    number = 0
    turn = unit
    x = 1 + ((@seed + unit) % (MODULUS - 1))
    while number < @transfers
      x = FACTOR * x % MODULUS
      amount = 1 + (x % 1000)
      hot = x / 1000 % 100 < @hot
      x = FACTOR * x % MODULUS
      source = hot ? 0 : x % @accounts
      x = FACTOR * x % MODULUS
      target = x % (@accounts - 1)
      target += 1 if target >= source
      if (number % TIMED).zero?
        begin_ns = Settings.clock
        bank.transfer(source, target, amount)
        books.transfer_ns << (Settings.clock - begin_ns)
      else
        bank.transfer(source, target, amount)
      end
      number += 1
      if (number % @every).zero?
        books.counted += @every
        begin_ns = Settings.clock
        auditors[turn % auditors.size].ask(answer)
        answer.dequeue
        books.audit_ns << (Settings.clock - begin_ns)
        turn += 1
      else
        bank.give_way(task)
      end
    end
    books.finished += number
  end

  # The smallest times that so many percent do not exceed; 0 where there is none.
  def percentiles(name, times)
    sorted = times.empty? ? [0] : times.sort
    p50, p99, max = [50, 99, 100].map { |percent| sorted[(((sorted.size * percent) + 99) / 100) - 1] }
    "#{name}_p50_ns=#{p50} #{name}_p99_ns=#{p99} #{name}_max_ns=#{max}"
  end
end

Accounts.new(Settings.new).run
