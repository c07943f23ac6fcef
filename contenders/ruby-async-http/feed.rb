# frozen_string_literal: true

# The feed: async-http's server; a fiber for each connection waits until the next chunk is due.

require_relative "service"

# A body without an end.
class Feed < Service::Body
  def initialize(id, interval_s)
    super()
    @id = id
    @interval_s = interval_s
    @sent = 0
  end

  # The next chunk when it is due. Chunks that became due while the client did not read follow at once.
  def read
    @sent += 1
    return welcome if @sent == 1

    number = @sent - 1
    wait_s = @begun_s + (number * @interval_s) - now_s
    sleep(wait_s) if wait_s.positive?
    "Chunk #{number} for #{@id}\n"
  end

  private

  def welcome
    @begun_s = now_s
    "Welcome: #{@id}\n"
  end

  def now_s = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

settings = Settings.new
interval_s = settings.whole_number("interval_ms", 1..3_600_000, 1000) / 1000.0
Service.run(settings) do |request|
  id = request.path[%r{\A/test/([0-9]{1,20})(?:\?.*)?\z}, 1]
  if !id
    Service.refuse(404)
  elsif request.method != "GET"
    Service.refuse(405)
  else
    Service.text(Feed.new(id, interval_s))
  end
end
