# frozen_string_literal: true

# One press of the button. The demo asks itself for one slow page alone, as a measure, then for all
# pages at once. It uses plain Net::HTTP over its own socket, each request in a fiber (NB.all). A
# browser could not do that, as it opens only six connections to a host.
# All stamps are of one clock, in seconds.

require "json"
require "net/http"
require "neverblock"
require "uri"
require_relative "clock"

module Demo
  class Run
    include Clock

    TIMEOUT_S = 60
    STATES = %w[alone together done failed].freeze

    # One request: when it was sent and answered as its sender saw it, and the times that the page
    # itself reports.
    Row = Struct.new(:product, :sent, :received, :answer, :error)

    # @return [String]
    attr_reader :id, :state

    # @param id [String]
    # @param url [String] of the demo itself
    # @param requests [Integer] how many at once
    def initialize(id, url, requests)
      @id = id
      @uri = URI(url)
      @alone = Row.new(1)
      @rows = (1..requests).map { |product| Row.new(product) }
      @state = "alone"
      @began = @turned = now
    end

    # Parks until all is answered.
    # @return [void]
    def perform
      ask(@alone)
      return fail_with(@alone.error) if @alone.error

      @turned = now
      @state = "together"
      NB.all(*@rows) { |row| ask(row) }
      @ended = now
      @state = "done"
    rescue StandardError => e
      fail_with("#{e.class}: #{e.message}")
    end

    # @return [Boolean]
    def ended?
      %w[done failed].include?(@state)
    end

    # Times are in seconds from the start of the part they belong to: the one alone, or all at once.
    # @return [Hash{String => Object}]
    def to_h
      { "id" => @id, "state" => @state, "error" => @error, "requests" => @rows.size,
        "elapsed_s" => since(@turned, @ended || now), "alone" => row(@alone, @began),
        "rows" => @state == "alone" ? [] : @rows.map { |row| row(row, @turned) },
        "summary" => (summary if @state == "done") }
    end

    private

    def ask(row)
      row.sent = now
      response = Net::HTTP.start(@uri.host, @uri.port, open_timeout: TIMEOUT_S,
                                                       read_timeout: TIMEOUT_S) do |http|
        http.get("/slow?id=#{row.product}")
      end
      row.received = now
      unless response.is_a?(Net::HTTPOK)
        return row.error = "answered #{response.code}: " \
                           "#{response.body.to_s.lines.first.to_s.strip[0, 200]}"
      end

      row.answer = JSON.parse(response.body)
    rescue SystemCallError, IOError, Timeout::Error, JSON::ParserError => e
      row.received ||= now
      row.error = "#{e.class}: #{e.message}"
    end

    def fail_with(message)
      @error = message
      @ended = now
      @state = "failed"
    end

    # @return [Hash] what the page says in large
    def summary
      alone = @alone.received - @alone.sent
      together = @rows.map(&:received).max - @rows.map(&:sent).min
      one_by_one = alone * @rows.size
      { "alone_s" => alone.round(4), "together_s" => together.round(4),
        "one_by_one_s" => one_by_one.round(2), "ratio" => (one_by_one / together).round(1),
        "overlap" => overlap, "failed" => @rows.count(&:error) }
    end

    # The most requests that the application worked on at one moment. A request that ends when
    # another starts does not overlap it.
    def overlap
      events = @rows.filter_map(&:answer).flat_map do |answer|
        [[answer["started"], 1], [answer["finished"], -1]]
      end
      running = 0
      events.sort.map { |_, step| running += step }.max || 0
    end

    # "waits": from when to when each slow service was asked.
    def row(row, zero)
      waits = row.answer && row.answer["waits"].transform_values do |times|
        times.map { |time| since(zero, time) }
      end
      { "product" => row.product, "sent" => since(zero, row.sent),
        "received" => since(zero, row.received), "error" => row.error, "waits" => waits }.compact
    end

    def since(zero, time)
      time && (time - zero).round(4)
    end
  end
end
