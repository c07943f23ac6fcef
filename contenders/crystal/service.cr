# How a server begins and ends.

require "socket"
require "./settings"

BACKLOG = 4096

# Its accept waits where no descriptors are left, instead of raising again and again.
class Listener < TCPServer
  def accept? : TCPSocket?
    loop do
      return super
    rescue IO::Error
      return if closed?
      sleep 100.milliseconds
    end
  end
end

def listen : Listener
  host, port = GIVEN.fetch("host", "127.0.0.1"), whole("port", "0", least: 0, most: 65535_i64)
  Listener.new(host, port.to_i, BACKLOG)
rescue Socket::Error
  refuse "port", "one that is free on #{GIVEN.fetch("host", "127.0.0.1")}", GIVEN.fetch("port", "0")
end

# Says that it listens; SIGTERM and the end of stdin end the program from now on.
def ready(server) : Nil
  Process.on_terminate { exit 0 }
  spawn do
    STDIN.skip_to_end
    exit 0
  end
  report "::ready port=#{server.local_address.port}"
end
