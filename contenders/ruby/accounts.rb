# frozen_string_literal: true

# The accounts: a thread for each unit and each auditor, and one mutex for all accounts; with `sharing=lock-for-each` a
# mutex for each of them.

require_relative "settings"

OPENING_BALANCE = 1000
MODULUS = 2_147_483_647
FACTOR = 48_271
# A unit reads the clock before and after one of so many transfers.
TIMED = 16

# One mutex for all accounts.
class OneLock
  def initialize(accounts)
    @balances = Array.new(accounts, OPENING_BALANCE)
    @mutex = Mutex.new
  end

  def transfer(source, target, amount)
    @mutex.synchronize do
      @balances[source] -= amount
      @balances[target] += amount
    end
  end

  def balances = @mutex.synchronize { @balances.dup }
end

# A mutex for each account. Who needs several takes them in the order of the accounts, so that no two wait for each other.
class LockForEach
  def initialize(accounts)
    @balances = Array.new(accounts, OPENING_BALANCE)
    @mutexes = Array.new(accounts) { Mutex.new }
  end

  def transfer(source, target, amount)
    first, second = source < target ? [source, target] : [target, source]
    @mutexes[first].synchronize do
      @mutexes[second].synchronize do
        @balances[source] -= amount
        @balances[target] += amount
      end
    end
  end

  def balances
    @mutexes.each(&:lock)
    @balances.dup
  ensure
    @mutexes.each(&:unlock)
  end
end

# What units and auditors write down while the work is done once.
Books = Struct.new(:counted, :finished, :transfer_ns, :audit_ns, :mutex)

# A thread that adds up all accounts for each unit that asks.
class Auditor
  attr_reader :audits, :wrong, :first, :last

  def initialize(bank, accounts, books)
    @questions = Queue.new
    @audits = @wrong = @first = @last = 0
    @thread = Thread.new { work(bank, accounts, books) }
  end

  # The answer comes through that queue.
  def ask(answer) = @questions << answer

  def finish
    @questions.close
    @thread.join
  end

  private

  def work(bank, accounts, books)
    while (answer = @questions.pop)
      total = bank.balances.sum
      @wrong += 1 unless total == accounts * OPENING_BALANCE
      @last = books.mutex.synchronize { books.counted }
      @first = @last if @audits.zero?
      @audits += 1
      answer << total
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
    @bank = settings.one_of("sharing", "one-lock", "lock-for-each") == "one-lock" ? OneLock : LockForEach
    settings.whole_number("cores", 1..1024, 1) # Of no use: one thread at a time runs Ruby.
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
    bank = @bank.new(@accounts)
    hold if @hold
    begin_ns = Settings.clock
    books = Books.new(0, 0, [], [], Mutex.new)
    auditors = Array.new(@auditors) { Auditor.new(bank, @accounts, books) }
    Array.new(@units) { |unit| Thread.new { work(unit, bank, books, auditors) } }.each(&:join)
    auditors.each(&:finish)
    Settings.report("::phase name=transfer ns=#{Settings.clock - begin_ns}")
    bank.balances.each { |balance| @folded = ((31 * @folded) + (balance % MODULUS)) % MODULUS }
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

  # What a unit does: its transfers, and after so many of them it waits for an audit.
  def work(unit, bank, books, auditors)
    transfer_ns = []
    audit_ns = []
    answer = Queue.new
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
        transfer_ns << (Settings.clock - begin_ns)
      else
        bank.transfer(source, target, amount)
      end
      number += 1
      next unless (number % @every).zero?

      books.mutex.synchronize { books.counted += @every }
      begin_ns = Settings.clock
      auditors[turn % auditors.size].ask(answer)
      answer.pop
      audit_ns << (Settings.clock - begin_ns)
      turn += 1
    end
    books.mutex.synchronize do
      books.finished += number
      books.transfer_ns.concat(transfer_ns)
      books.audit_ns.concat(audit_ns)
    end
  end

  # The smallest times that so many percent do not exceed; 0 where there is none.
  def percentiles(name, times)
    sorted = times.empty? ? [0] : times.sort
    p50, p99, max = [50, 99, 100].map { |percent| sorted[(((sorted.size * percent) + 99) / 100) - 1] }
    "#{name}_p50_ns=#{p50} #{name}_p99_ns=#{p99} #{name}_max_ns=#{max}"
  end
end

begin
  Accounts.new(Settings.new).run
rescue ThreadError
  Settings.give_up(1, "no more threads can be started")
end
