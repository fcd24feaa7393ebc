# frozen_string_literal: true

require "json"
require "net/http"

module OnThreads
  # Asks a server all questions, many at once.
  class Crowd
    # Further than any limit inside a program.
    ANSWER_S = 20
    # Of the server's own.
    OWN_HEADERS = %w[date server connection keep-alive transfer-encoding content-length].freeze
    HOG_S = 0.3

    def initialize(server, clients:)
      @server = server
      @clients = clients
      @uri = URI(server.url)
    end

    # @param limit_s [Numeric] after so long no more is asked
    # @return [Hash{Integer => Object}] answers by number; of what did not answer, why
    def ask(program, count, limit_s)
      @limit = Patience::Limit.new(limit_s)
      numbers = Queue.new
      count.times { |number| numbers << number }
      @gone = false
      answers = with_hogs do
        Array.new(@clients) { Thread.new { ask_some(program, numbers) } }.map(&:value)
      end
      answers.inject({}, :merge)
    end

    # @return [Hash{String => Integer}]
    def left
      http { |connection| JSON.parse(connection.get("/left").body) }
    end

    private

    def with_hogs
      over = false
      hogs = Array.new(@server.hogs) do
        Thread.new do
          http { |connection| connection.get("/hog/#{HOG_S}") until over }
        rescue StandardError
          nil # its answers matter to nobody
        end
      end
      yield
    ensure
      over = true
      hogs.each(&:join)
    end

    def http(&block)
      connect.then { |connection| block.call(connection).tap { connection.finish } }
    end

    def ask_some(program, numbers)
      found = {}
      connection = nil
      until numbers.empty? || @gone || @limit.over?
        # Another may have been faster.
        number = numbers.pop(true) rescue break # rubocop:disable Style/RescueModifier
        found[number] = answer(connection ||= connect, program, number)
        connection = connection.finish if found[number].is_a?(String)
      end
      found
    rescue SystemCallError
      @gone = true
      found
    ensure
      connection&.finish
    end

    def connect = Net::HTTP.start(@uri.host, @uri.port, read_timeout: ANSWER_S, max_retries: 0)

    def answer(connection, program, number)
      method, query, headers, body = program.questions.at(number)
      request = Net::HTTPGenericRequest.new(
        method, !body.empty?, method != "HEAD", "/#{program.name}/r#{number}#{query}",
        { "accept-encoding" => "identity" }.merge(headers)
      )
      request.body = body unless body.empty?
      response = connection.request(request)
      [response.code.to_i, response.to_hash.except(*OWN_HEADERS).sort,
       (response.code == "500" ? "" : response.body.to_s)]
    rescue SystemCallError, IOError, Timeout::Error, Net::HTTPBadResponse => e
      @gone = true if e.is_a?(Timeout::Error)
      "no answer: #{e.class}"
    end
  end
end
