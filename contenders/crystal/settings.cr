# Reads the arguments, `key=value` each, and writes protocol lines. A value that cannot be used ends the program with
# status 2 and one line; unknown keys are ignored.

GIVEN = ARGV.to_h do |argument|
  key, _, value = argument.partition('=')
  {key, value}
end
MODULUS = 2147483647_i64

def refuse(key, wanted, text) : NoReturn
  STDERR.puts "#{Path[PROGRAM_NAME].basename}: #{key} must be #{wanted}, not #{text.inspect}"
  exit 2
end

def whole(key, default = "", least = 1, most = 1_000_000_000_i64) : Int64
  text = GIVEN.fetch(key, default)
  number = text.to_i64? if text.each_char.all?(&.ascii_number?)
  return number if number && least <= number <= most
  refuse key, "a whole number from #{least} to #{most}", text
end

def one_of(key, default, choices) : String
  text = GIVEN.fetch(key, default)
  choices.includes?(text) ? text : refuse(key, choices.join(" or "), text)
end

def flag?(key) : Bool
  one_of(key, "0", ["0", "1"]) == "1"
end

# Nanoseconds of the monotonic clock.
def clock : Int64
  now = Time.monotonic
  now.to_i * 1_000_000_000_i64 + now.nanoseconds
end

def report(line) : Nil
  STDOUT.puts line
  STDOUT.flush
end

def phase(name, ns) : Nil
  report "::phase name=#{name} ns=#{ns}"
end

def wait_for_a_line(name) : Nil
  report "::await name=#{name}"
  STDIN.gets
end

STDOUT.sync = false
STDOUT.flush_on_newline = false

# Unused: there is one thread.
whole "cores", "1", most: 1024_i64
