# frozen_string_literal: true

# How a server of HTTP begins and ends.

require "async"
require "async/http/server"
require "async/http/endpoint"
require "async/io/shared_endpoint" if defined?(Async::IO)
require "protocol/http/body/readable"
require_relative "settings"

module Service
  BACKLOG = 4096
  PAUSE_S = 0.01 # until it accepts again, where no descriptor is free

  # Listens, says so, and lets the block answer each request, until SIGTERM or the end of stdin.
  def self.run(settings, &answer)
    host = settings.address("host", "127.0.0.1")
    port = settings.whole_number("port", 0..65_535, 0)
    settings.whole_number("cores", 1..1024, 1) # Unused: all fibers share a thread.
    Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
    # Nothing is printed about clients that go away, or about their bytes.
    Console.logger.off!
    end_when_told
    Async { listen(host, port, &answer) }.wait
  end

  def self.listen(host, port, &answer)
    endpoint = Async::HTTP::Endpoint.parse("http://#{host}:#{port}", port: port)
    bound, sockets = bind(endpoint)
    server = Async::HTTP::Server.for(bound, protocol: endpoint.protocol, scheme: "http", &answer)
    Settings.report("::ready port=#{sockets.first.to_io.local_address.ip_port}")
    sockets.each { |socket| Async { accept_all(server, socket) } }
  rescue Errno::EADDRINUSE, Errno::EACCES, Errno::EADDRNOTAVAIL
    Settings.give_up(2, "port must be one that is free on #{host}, not #{port}")
  end

  # A fiber for each connection. The server's own loop would end where no descriptor is free.
  def self.accept_all(server, socket)
    loop do
      peer, address = socket.accept
      Async { server.accept(peer, address) }
    rescue SystemCallError
      sleep(PAUSE_S)
    end
  end

  # The bound endpoint, and its sockets. From async-http 0.70 on an endpoint does it itself; before, async-io does.
  def self.bind(endpoint)
    if defined?(Async::IO::SharedEndpoint)
      bound = Async::IO::SharedEndpoint.bound(endpoint, backlog: BACKLOG)
      [bound, bound.wrappers]
    else
      bound = endpoint.bound(backlog: BACKLOG)
      [bound, bound.sockets]
    end
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

  def self.text(body) = Protocol::HTTP::Response[200, { "content-type" => "text/plain" }, body]

  def self.refuse(status)
    Protocol::HTTP::Response[status, status == 405 ? { "allow" => "GET" } : {}, []]
  end

  # A body of pieces, each of which the server asks for when the one before has gone out.
  class Body < Protocol::HTTP::Body::Readable
    # The size is not known, so the body is sent in chunks.
    def length = nil

    def empty? = false
  end
end
