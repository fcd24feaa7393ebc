# frozen_string_literal: true

# Runs the requests of benchmark/apps/clients.rb, a fixed number at once. Each is a
# Net::HTTP.get_response on a connection of its own. It ends with the time, or when an ideal client
# would have made all requests.

require "net/http"
require "uri"
require_relative "measured"

class Crowd
  BODY = "Hello World"

  # @return [Integer] requests at once
  attr_reader :size

  # @param url [String]
  # @param size [Integer]
  # @param seconds [Numeric] after which no request begins
  def initialize(url, size:, seconds:)
    @uri = URI(url)
    @size = size
    @seconds = seconds
    delay_ms = @uri.path.delete_prefix("/").to_i
    @most = delay_ms.positive? ? [size * seconds * 1000 / delay_ms, size].max.to_i : Float::INFINITY
    @begun = 0
    @in_flight = @in_flight_max = 0
    @took_us = []
    @errors = Hash.new(0)
  end

  # @yield does the requests
  # @return [Hash{Symbol => Object}] figures
  def measure
    figures = Measured.around do
      @start = Measured.now
      @stop = @start + @seconds
      yield self
    end
    sorted = @took_us.sort
    figures.merge(count: sorted.size, errors: @errors, in_flight_max: @in_flight_max,
                  burst_rate: @burst_seconds && (@size / @burst_seconds).round(2),
                  p50_us: at(sorted, 0.50), p90_us: at(sorted, 0.90), p99_us: at(sorted, 0.99))
  end

  # One request at a time until none is to begin.
  def slot
    ask while more?
  end

  # @return [Boolean] whether another request begins; if so, it has to be asked
  def more?
    return false if @begun >= @most || Measured.now > @stop

    @begun += 1
    true
  end

  # One request.
  def ask
    start = Measured.now
    @in_flight_max = [@in_flight_max, @in_flight += 1].max
    response = Net::HTTP.get_response(@uri)
    fail!("answer #{response.code}") unless response.code == "200" && response.body == BODY
  rescue StandardError => e
    fail!(e.class.name)
  ensure
    note(start)
  end

  private

  def note(start)
    now = Measured.now
    @in_flight -= 1
    @took_us << ((now - start) * 1e6).round
    @burst_seconds ||= now - @start if @took_us.size == @size
  end

  def fail!(reason)
    @errors[reason] += 1
  end

  def at(sorted, share)
    sorted[((sorted.size - 1) * share).round]
  end
end
