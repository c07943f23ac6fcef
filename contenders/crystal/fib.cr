# The fibonacci service: a fiber for each connection; there is one thread.

require "./service"

LONGEST = 100 # bytes of a line, its newline included

def fib(n : Int32) : Int64
  n <= 2 ? 1_i64 : fib(n - 1) + fib(n - 2)
end

def answer(line) : String
  n = line.to_i? if line.size > 0 && line.each_char.all?(&.ascii_number?)
  n && 1 <= n <= 90 ? "#{fib n}\n" : "error: n must be a whole number from 1 to 90\n"
end

# Answers one client's requests until it closes.
def converse(client) : Nil
  while line = client.gets('\n', LONGEST)
    if line.ends_with?('\n')
      client << answer(line.rchop)
    else
      client << "error: a line may have #{LONGEST} bytes\n" if line.bytesize == LONGEST
      break
    end
  end
rescue IO::Error
  # The client went away.
ensure
  client.close
end

server = listen
ready server
while client = server.accept?
  client.tcp_nodelay = true
  client.sync = true
  spawn converse(client)
end
