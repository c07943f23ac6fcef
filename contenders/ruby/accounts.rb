# frozen_string_literal: true

# The accounts: a thread for each unit and each auditor, and one mutex for all accounts; with `sharing=lock-for-each` a
# mutex for each of them. With `sharing=owner` units and auditors are ractors, and one more has all accounts.

require_relative "settings"
require_relative "transfers"
require_relative "ractors"

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

# A mutex for each account. A unit takes several in the order of the accounts, so that no two units wait for each other.
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

# The records of units and auditors in one repeat.
Books = Struct.new(:counted, :mutex)

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

# A desk at which the thread of a unit asks for audits.
class Desk
  def initialize(auditors, books)
    @auditors = auditors
    @books = books
    @answer = Queue.new
  end

  def count(transfers) = @books.mutex.synchronize { @books.counted += transfers }

  # Waits for the answer.
  def ask(auditor)
    @auditors[auditor].ask(@answer)
    @answer.pop
  end
end

# Units and auditors as threads.
class Threads
  def initialize(bank)
    @kind = bank
  end

  def open(problem)
    @problem = problem
    @bank = @kind.new(problem.accounts)
  end

  # The results of the units and the auditors.
  def work
    books = Books.new(0, Mutex.new)
    auditors = Array.new(@problem.auditors) { Auditor.new(@bank, @problem.accounts, books) }
    units = Array.new(@problem.units) do |number|
      Thread.new { Unit.new(@problem, number).work(@bank, Desk.new(auditors, books)) }
    end
    worked = units.map(&:value)
    auditors.each(&:finish)
    [worked, auditors]
  end

  # The final balances.
  def close = @bank.balances
end

# The arguments, and what all repeats come to.
class Accounts
  def initialize(settings)
    @problem = Problem.new(
      settings.whole_number("accounts", 2..100_000), settings.whole_number("units", 1..10_000),
      settings.whole_number("transfers", 1..1_000_000), settings.whole_number("auditors", 1..1000),
      settings.whole_number("every", 1..1_000_000), settings.whole_number("hot", 0..100, 0),
      settings.whole_number("seed", 0..4_294_967_295, 0)
    ).freeze
    @repeats = settings.whole_number("repeats", 1..3000, 1)
    @hold = settings.flag?("hold")
    settings.whole_number("cores", 1..1024, 1) # Unused: only one thread at a time runs Ruby.
    @crew = crew(settings.one_of("sharing", "one-lock", "lock-for-each", "owner"))
    @folded = @finished = @audits = @wrong = 0
  end

  def run
    units = auditors = nil
    @repeats.times { units, auditors = once }
    counts = "transfers=#{@finished} audits=#{@audits} wrong=#{@wrong}"
    seen = "first=#{auditors.map(&:first).join(",")} last=#{auditors.map(&:last).join(",")}"
    times = "#{percentiles("transfer", units.flat_map(&:transfer_ns))} #{percentiles("audit", units.flat_map(&:audit_ns))}"
    Settings.report("::result balances=#{@folded} #{counts} #{seen} #{times}")
  end

  private

  def crew(sharing)
    case sharing
    when "owner" then Ractors.new
    when "one-lock" then Threads.new(OneLock)
    else Threads.new(LockForEach)
    end
  end

  def once
    @crew.open(@problem)
    hold if @hold
    begin_ns = Settings.clock
    units, auditors = @crew.work
    Settings.report("::phase name=transfer ns=#{Settings.clock - begin_ns}")
    @crew.close.each { |balance| @folded = ((31 * @folded) + (balance % MODULUS)) % MODULUS }
    @finished += units.sum(&:made)
    @audits += auditors.sum(&:audits)
    @wrong += auditors.sum(&:wrong)
    [units, auditors]
  end

  def hold
    @hold = false
    Settings.report("::await name=opened")
    $stdin.gets
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
