# frozen_string_literal: true

# The gateway: async-http's server and its client, a fiber for each call.

require "async/barrier"
require "async/http/client"
require "async/queue"
require_relative "service"

BAD_UPSTREAM = 400
CALLS = 3

# A body of the pieces of three fibers, each as soon as it is there, and of a dot for every tick without one.
class Pieces < Service::Body
  # `units`: what the fibers do, each for one piece. `tick_s`: nil where there is none.
  def initialize(units, tick_s)
    super()
    @tick_s = tick_s
    @missing = units.size
    @pieces = Async::Queue.new
    @fibers = Async::Barrier.new
    units.each { |unit| @fibers.async { @pieces.enqueue(unit.call) } }
  end

  def read
    return if @missing.zero?

    piece = @tick_s ? Async::Task.current.with_timeout(@tick_s) { @pieces.dequeue } : @pieces.dequeue
    @missing -= 1
    piece
  rescue Async::TimeoutError
    "."
  end

  # Also when the client has gone: what it asked for is abandoned.
  def close(error = nil)
    @fibers.stop
    super
  end
end

# The library, as it was until 2024, takes a 103 for the answer.
module FinalAnswers
  INFORMATIONAL = 102..199

  def read_response(method)
    loop do
      response = super
      return response unless INFORMATIONAL.cover?(response[1])
    end
  end
end

Async::HTTP::Protocol::HTTP1::Client.prepend(FinalAnswers)

# One upstream. The client keeps its connections open.
class Upstream
  def initialize(url, timeout_s)
    endpoint = Async::HTTP::Endpoint.parse(url)
    @path = endpoint.path
    @timeout_s = timeout_s
    @client = Async::HTTP::Client.new(endpoint)
  end

  # The status when all of the answer has come; 400 for any failure.
  def status(request_id)
    headers = request_id ? [["x-request-id", request_id]] : []
    Async::Task.current.with_timeout(@timeout_s) do
      response = @client.get(@path, headers)
      response.finish
      response.status
    end
  rescue StandardError
    BAD_UPSTREAM
  end
end

def sum(work)
  total = 0
  i = 1
  while i < work
    total += i
    i += 1
  end
  total
end

settings = Settings.new
kind = settings.needed("kind", "io", "cpu", "mixed")
tick_s = settings.whole_number("tick_ms", 1..Settings::MOST, 50) / 1000.0
timeout_s = settings.whole_number("timeout_ms", 1..Settings::MOST, 5000) / 1000.0
work = settings.whole_number("work", 1..Settings::MOST, 100_000)
upstreams = []
unless kind == "cpu"
  urls = settings.text("upstreams").split(",", -1)
  usable = urls.all? { |url| url.match?(%r{\Ahttp://127\.0\.0\.1:[1-9][0-9]{0,4}(/[!-~]*)?\z}) }
  settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas") unless urls.size == CALLS && usable
  upstreams = urls.map { |url| Upstream.new(url, timeout_s) }
end

Service.run(settings) do |request|
  if request.path.partition("?").first != "/"
    Service.refuse(404)
  elsif request.method != "GET"
    Service.refuse(405)
  else
    id = request.headers["x-request-id"]&.first
    units =
      case kind
      when "io" then upstreams.map { |upstream| -> { upstream.status(id).to_s } }
      when "mixed" then upstreams.map { |upstream| -> { "#{upstream.status(id)}:#{sum(work)}\n" } }
      else Array.new(CALLS) { -> { "#{sum(work)}\n" } }
      end
    Service.text(Pieces.new(units, kind == "cpu" ? nil : tick_s))
  end
end
