# frozen_string_literal: true

# The fibonacci service: a thread for each connection.

require "socket"
require_relative "settings"

# Answers the requests of connections.
class Service
  LONGEST = 100 # bytes of a line, its newline included
  BACKLOG = 4096
  GRACE_S = 1.0
  PAUSE_S = 0.01 # until it accepts again, where no descriptor is free

  def self.run(host, port)
    listener = TCPServer.new(host, port)
    listener.listen(BACKLOG)
    end_when_told
    Settings.report("::ready port=#{listener.local_address.ip_port}")
    loop { accept(listener) }
  rescue Errno::EADDRINUSE, Errno::EACCES, Errno::EADDRNOTAVAIL, SocketError
    Settings.give_up(2, "port must be one that is free on #{host}, not #{port}")
  end

  # At once, whatever is in progress.
  def self.end_when_told
    trap("TERM") { exit!(0) }
    Thread.new do
      $stdin.readpartial(4096) while true
    rescue SystemCallError, IOError
      exit!(0)
    end
  end

  def self.accept(listener)
    client = listener.accept
    Thread.new { new(client).converse }
  rescue SystemCallError, ThreadError
    client&.close
    sleep(PAUSE_S)
  end

  def initialize(client)
    @client = client
    @client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, true)
  end

  # Answers one client's requests until it closes.
  def converse
    while (line = @client.gets("\n", LONGEST))
      if line.end_with?("\n")
        @client.write(answer(line.delete_suffix!("\n")))
      else
        refuse if line.bytesize == LONGEST
        break
      end
    end
  rescue SystemCallError, IOError
    # The client went away.
  ensure
    @client.close
  end

  private

  def answer(request)
    n = request.match?(/\A[0-9]+\z/) ? request.to_i : 0
    (1..90).cover?(n) ? "#{fib(n)}\n" : "error: n must be a whole number from 1 to 90\n"
  rescue ArgumentError
    "error: n must be a whole number from 1 to 90\n" # Not even text.
  end

  def fib(n) = n <= 2 ? 1 : fib(n - 1) + fib(n - 2)

  # Closing with bytes unread would reset the connection, and the client might miss the answer.
  def refuse
    @client.write("error: a line may have #{LONGEST} bytes\n")
    @client.close_write
    deadline = Settings.clock + (GRACE_S * 1e9)
    while (left = (deadline - Settings.clock) / 1e9).positive? && @client.wait_readable(left)
      break unless @client.read_nonblock(4096, exception: false)
    end
  end
end

settings = Settings.new
host = settings.address("host", "127.0.0.1")
port = settings.whole_number("port", 0..65_535, 0)
settings.whole_number("cores", 1..1024, 1) # Unused: one thread runs Ruby at a time.
Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
Thread.report_on_exception = false
Service.run(host, port)
