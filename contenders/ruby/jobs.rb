# frozen_string_literal: true

# The background jobs: W threads with a queue of jobs; for jobs that compute, ractors, which do not share a lock. The
# main thread collects the answers in order, and another one beats.

require_relative "settings"

Warning[:experimental] = false

# The work of a job.
module Work
  MODULUS = 2_147_483_647
  FACTOR = 48_271

  def self.first(seed, number) = 1 + ((seed + number) % (MODULUS - 1))

  def self.advance(x, rounds)
    while rounds.positive?
      x = FACTOR * x % MODULUS
      rounds -= 1
    end
    x
  end
end

# A beat that is due 10 ms after the one before, in a thread of its own.
class Heart
  BEAT_NS = 10_000_000

  attr_reader :beats, :gap

  def initialize(now)
    @last = now
    @due = now + BEAT_NS
    @beats = @gap = 0
    @thread = Thread.new { loop { wait_and_beat } }
  end

  def stop(now)
    @thread.kill.join
    look_back(now)
  end

  private

  def wait_and_beat
    wait_ns = @due - Settings.clock
    sleep(wait_ns / 1e9) if wait_ns.positive?
    now = Settings.clock
    return if now < @due

    @beats += 1
    look_back(now)
    @last = now
    @due = now + BEAT_NS
  end

  def look_back(now)
    @gap = [@gap, now - @last].max
  end
end

# Threads with a queue of jobs.
class ThreadPool
  def initialize(size, duration_s, kind)
    @jobs = Queue.new
    @answers = Queue.new
    @threads = Array.new(size) { |place| Thread.new { work(place, kind == "sleep" ? duration_s : nil) } }
  end

  def submit(number, x) = @jobs << [number, x]

  def next_answer = @answers.pop

  def stop
    @jobs.close
    @threads.each(&:join)
  end

  private

  def work(place, duration_s)
    while (number, x = @jobs.pop)
      begin_ns = Settings.clock
      sleep(duration_s) if duration_s
      value = Work.advance(x, 1)
      @answers << [number, value, place, begin_ns, Settings.clock]
    end
  end
end

# Ractors; whoever answers gets the next job.
class RactorPool
  def initialize(size, rounds)
    main = Ractor.current
    @ractors = Array.new(size) { |place| RactorPool.ractor(main, place, rounds) }
    @free = @ractors.each_index.to_a
    @waiting = Queue.new
  end

  def self.ractor(main, place, rounds)
    Ractor.new(main, place, rounds) do |answers, unit, times|
      while (number, x = Ractor.receive)
        begin_ns = Settings.clock
        value = Work.advance(x, times)
        answers.send([number, value, unit, begin_ns, Settings.clock])
      end
    end
  end

  def submit(number, x)
    place = @free.shift
    place ? @ractors[place].send([number, x]) : @waiting << [number, x]
  end

  def next_answer
    answer = Ractor.receive
    place = answer[2]
    @waiting.empty? ? @free << place : @ractors[place].send(@waiting.pop)
    answer
  end

  def stop = @ractors.each { |ractor| ractor.send(nil) }
end

# All jobs, once or again.
class Jobs
  TIMES_ALONE = 5

  def initialize(settings)
    @kind = settings.needed("kind", "sleep", "cpu", "noop")
    @count = settings.whole_number("jobs", 1..1_000_000)
    @workers = settings.whole_number("workers", 1..1024)
    @cores = settings.whole_number("cores", 1..1024, 1)
    @duration_s = settings.whole_number("duration_ms", 0..3_600_000, 1000) / 1000.0
    @rounds = settings.whole_number("rounds", 1..Settings::MOST, 1_000_000)
    @seed = settings.whole_number("seed", 0..4_294_967_295, 0)
    @trace = settings.flag?("trace")
    @order = @beats = 0
  end

  attr_reader :order, :beats, :count

  # Each begins with the answer of the one before. Returns the last.
  def alone
    x = Work.first(@seed, 0)
    (@kind == "cpu" ? TIMES_ALONE : 0).times do
      start = Settings.clock
      x = Work.advance(x, @rounds)
      Settings.report("::phase name=alone ns=#{Settings.clock - start}")
    end
    x
  end

  def in_background(hold:)
    start = Settings.clock
    pool = @kind == "cpu" ? RactorPool.new([@workers, @cores].min, @rounds) : ThreadPool.new(@workers, @duration_s, @kind)
    @count.times { |number| pool.submit(number, Work.first(@seed, number)) }
    submitted = Settings.clock
    Settings.report("::phase name=submit ns=#{submitted - start}")
    heart = Heart.new(submitted)
    if hold
      Settings.report("::await name=submitted")
      $stdin.gets
    end
    answers = Array.new(@count)
    @count.times do |number|
      # Answers are taken as they come, until this one is there.
      until answers[number]
        index, *answer = pool.next_answer
        answers[index] = answer
      end
    end
    stop = Settings.clock
    Settings.report("::phase name=makespan ns=#{stop - start}")
    heart.stop(stop)
    pool.stop
    report(start, heart, answers)
  end

  private

  def report(start, heart, answers)
    Settings.report("::phase name=gap ns=#{heart.gap}")
    answers.each do |value, place, begin_ns, end_ns|
      @order = (31 * @order + value) % Work::MODULUS
      Settings.report("::span unit=#{place} begin=#{begin_ns - start} end=#{end_ns - start}") if @trace
    end
    @beats += heart.beats
  end
end

settings = Settings.new
jobs = Jobs.new(settings)
hold = settings.flag?("hold")
repeats = settings.whole_number("repeats", 1..3000, 1)
begin
  last = jobs.alone
  repeats.times { |i| jobs.in_background(hold: hold && i.zero?) }
rescue ThreadError
  Settings.give_up(1, "no more threads can be started")
end
Settings.report("::result answers=#{repeats * jobs.count} order=#{jobs.order} beats=#{jobs.beats} alone=#{last}")
# Ractors that wait need not be ended one by one.
$stdout.flush
exit!(0)
