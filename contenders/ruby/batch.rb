# frozen_string_literal: true

# The batch: a ractor for each core computes pieces of cases; the main ractor reads and writes.

require_relative "settings"

Warning[:experimental] = false

class InputError < StandardError; end

# Reads the input.
class Input
  MOST_SIZE = 1_000_000

  def initialize(path)
    @file = File.open(path, "rb")
    @file.read(0)
  rescue SystemCallError => error
    raise InputError, "it cannot be read: #{error.class}"
  end

  # Each case as its number, the size of its vectors, and the text of both.
  def each_case
    count = whole_number("the number of cases", 10**17)
    (1..count).each do |number|
      size = whole_number("case #{number}: a size", MOST_SIZE)
      yield [number, size, line(8 * size), line(8 * size)]
    end
    raise InputError, "it goes on after case #{count}, the last" if @file.read(1)
  ensure
    @file.close
  end

  private

  def whole_number(what, most)
    text = line(20)
    return text.to_i if text.match?(/\A[0-9]{1,18}\z/) && text.to_i <= most

    raise InputError, "#{what} must be a whole number from 0 to #{most}"
  end

  # A line of so many bytes at most, without its newline.
  def line(most)
    text = @file.gets("\n", most + 1)
    raise InputError, "a line is cut off, or too long" unless text&.end_with?("\n")

    text.delete_suffix!("\n")
  rescue SystemCallError => error
    raise InputError, "it cannot be read: #{error.class}"
  end
end

# A ractor's work on a piece: returns the answers, or the error.
module Solver
  LARGEST = 100_000

  def self.solve(piece)
    piece.map { |number, size, *texts| smallest_product(*texts.map { |text| numbers(number, size, text) }) }
  rescue ArgumentError => error
    error.message
  end

  def self.smallest_product(first, second)
    first.zip(second.reverse).sum { |one, other| one * other }
  end

  def self.numbers(number, size, text)
    words = text.split(" ", -1)
    raise ArgumentError, "case #{number}: a vector must have #{size} numbers" if words.size != size

    words.map do |word|
      value = word.include?("_") ? nil : Integer(word, 10, exception: false)
      raise ArgumentError, "case #{number}: numbers must be from #{-LARGEST} to #{LARGEST}" unless value&.abs&.<= LARGEST

      value
    end.sort
  end
end

# The pool of ractors, and the order of what they answer.
class Batch
  PIECE_BYTES = 128 * 1024
  # Pieces in progress for each ractor.
  AHEAD = 3

  def initialize(cores, piece_cases)
    @piece_cases = piece_cases
    @most = AHEAD * cores
    @times = { read: 0, compute: 0, wait_ahead: 0, write: 0 }
    @early = {}
    @next = @submitted = 0
    main = Ractor.current
    @workers = Array.new(cores) { |number| Batch.worker(main, number) }
    # The pieces that each ractor has not answered yet.
    @pending = Array.new(cores, 0)
  end

  def self.worker(main, number)
    Ractor.new(main, number) do |answers, own|
      loop do
        index, piece = Ractor.receive
        begin_ns = Settings.clock
        result = Solver.solve(piece)
        answers.send(Ractor.make_shareable([own, index, result, Settings.clock - begin_ns]))
      end
    end
  end

  # The number of cases.
  def run(path)
    start = begin_ns = Settings.clock
    count = bytes = 0
    piece = []
    Input.new(path).each_case do |one|
      piece << one
      count += 1
      bytes += one[2].bytesize + one[3].bytesize
      next if piece.size < @piece_cases && bytes < PIECE_BYTES

      @times[:read] += Settings.clock - begin_ns
      submit(piece)
      piece = []
      bytes = 0
      begin_ns = Settings.clock
    end
    @times[:read] += Settings.clock - begin_ns
    submit(piece) unless piece.empty?
    write_some while @next < @submitted
    $stdout.flush
    @times[:work] = Settings.clock - start
    count
  end

  def report = @times.each { |name, ns| Settings.report("::phase name=#{name} ns=#{ns}") }

  private

  def submit(piece)
    begin_ns = Settings.clock
    number = @pending.each_index.min_by { |one| @pending[one] }
    @pending[number] += 1
    # Objects that cannot change are shared: nothing is copied.
    @workers[number].send(Ractor.make_shareable([@submitted, piece]))
    @submitted += 1
    @times[:read] += Settings.clock - begin_ns
    write_some while @submitted - @next > @most
  end

  # Waits for one answer, and writes those whose turn it is.
  def write_some
    waiting = Settings.clock
    number, index, result, compute_ns = Ractor.receive
    begin_ns = Settings.clock
    @pending[number] -= 1
    @times[:wait_ahead] += begin_ns - waiting
    raise InputError, result if result.is_a?(String)

    @times[:compute] += compute_ns
    @early[index] = result
    while (products = @early.delete(@next))
      @written ||= 0
      products.each { |product| $stdout.write("Case ##{@written += 1}: #{product}\n") }
      @next += 1
    end
    @times[:write] += Settings.clock - begin_ns
  rescue SystemCallError
    Settings.give_up(1, "cannot write to stdout")
  end
end

settings = Settings.new
cores = settings.whole_number("cores", 1..1024, 1)
settings.one_of("capacity", "own", "unbounded")
repeats = settings.whole_number("repeats", 1..3000, 1)
piece_cases = settings.whole_number("piece", 1..1000, 100)
path = settings.text("input")
settings.refuse("input", "the path of a file") if path.empty?
begin
  cases = (1..repeats).sum do
    batch = Batch.new(cores, piece_cases)
    batch.run(path).tap { batch.report }
  end
rescue InputError => error
  Settings.give_up(2, "input: #{error.message}")
end
Settings.report("::result cases=#{cases}")
# Ractors that wait for pieces need not be ended one by one.
$stdout.flush
exit!(0)
