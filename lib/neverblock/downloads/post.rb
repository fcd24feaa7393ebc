# frozen_string_literal: true

# Posts reports to a URL, each a JSON object, one after the other on a connection that is kept. While nobody answers there, or answers 5xx, they wait and are tried
# again, later and later; what is more than fits is lost, and said. A 3xx or 4xx is not tried again: the URL does not want it.
#
# A report may come twice, where the connection broke before its answer was here.

require "json"
require "net/http"
require "neverblock/verbs/deadline"
require "neverblock/downloads/losses"
require "neverblock/version"
require "uri"

module NeverBlock
  module Downloads
    class Post
      # Seconds between two attempts, doubled from the first to the last.
      FIRST_S = 0.1
      LAST_S = 5.0
      # Seconds for the last reports when the server ends.
      CLOSE_S = 3.0
      OPEN_S = 5
      ANSWER_S = 10
      # Seconds a connection without reports is kept.
      KEPT_S = 30

      TROUBLE = [SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError, Net::ProtocolError].freeze

      # @param url [String] http:// or https://
      # @param log [Log]
      # @param count [#call] takes :posted, :refused or :lost and a number
      # @param losses [Losses]
      def initialize(url, log, count, losses)
        @uri = URI.parse(url)
        @log = log
        @count = count
        @losses = losses
        @lock = Mutex.new
        @news = ConditionVariable.new
        @waiting = []
      end

      # @return [self]
      def start
        @thread = Thread.new { run }
        @thread.name = "nb-download-post"
        self
      end

      # Any thread; never waits.
      # @param reports [Array<Report>]
      # @return [void]
      def offer(reports)
        fitting = @lock.synchronize do
          Losses.fitting(reports, @waiting.size).tap do |some|
            @waiting.concat(some)
            @news.signal
          end
        end
        @losses.add(reports.size - fitting.size, "#{Losses::WAITING_MAX} wait to be posted to #{shown}, which #{@trouble || "is too slow"}")
      end

      # Posts what it can in a short time.
      # @param seconds [Numeric]
      # @return [void]
      def close(seconds = CLOSE_S)
        @lock.synchronize do
          @closing = true
          @news.broadcast
        end
        @thread.join(seconds) || @thread.kill
        @losses.add(@waiting.size, "the server has ended, and #{shown} #{@trouble || "was too slow to take them"}")
      end

      private

      def run
        while (report = following)
          deliver(report)
          @lock.synchronize { @waiting.shift }
        end
      ensure
        leave
      end

      # It stays the first until it is delivered.
      def following
        @lock.synchronize do
          @news.wait(@lock) while @waiting.empty? && !@closing
          @waiting.first
        end
      end

      def deliver(report)
        pause = FIRST_S
        @attempts = 0
        until attempt(report)
          wait(pause)
          pause = [pause * 2, LAST_S].min
        end
      end

      # While the server ends there is little time left.
      def wait(seconds)
        limit = Deadline.now + seconds
        @lock.synchronize do
          @news.wait(@lock, limit - Deadline.now) while !@closing && Deadline.now < limit
        end
        sleep(FIRST_S) if @closing
      end

      # @return [Boolean] whether it is done with
      def attempt(report)
        response = connection.request(request(report))
        return taken if response.is_a?(Net::HTTPSuccess)
        return refused(response) unless response.is_a?(Net::HTTPServerError)

        failed("answers #{response.code}")
      rescue *TROUBLE => e
        leave
        failed("cannot be reached (#{e.message.lines.first.to_s.strip})")
      end

      def connection
        @http ||= Net::HTTP.new(@uri.hostname, @uri.port).tap do |http|
          http.use_ssl = @uri.scheme == "https"
          http.open_timeout = OPEN_S
          http.read_timeout = http.write_timeout = ANSWER_S
          http.keep_alive_timeout = KEPT_S
          http.max_retries = 0
          http.start
        end
      end

      def leave
        @http&.finish if @http&.started?
      rescue IOError
        nil
      ensure
        @http = nil
      end

      def request(report)
        Net::HTTP::Post.new(@uri.request_uri, "content-type" => "application/json", "user-agent" => "neverblock/#{VERSION}").tap do |made|
          made.basic_auth(URI.decode_www_form_component(@uri.user), URI.decode_www_form_component(@uri.password.to_s)) if @uri.user
          made.body = report.to_json
        end
      end

      def taken
        @count.call(:posted, 1)
        @log.info("reports of downloads are posted to #{shown} again; #{@waiting.size - 1} wait") if @trouble
        @trouble = nil
        true
      end

      # Said once: whoever runs that application has it wrong for all of them.
      def refused(response)
        @count.call(:refused, 1)
        @log.warn("#{shown} answers #{response.code} to a report of a download: such are not posted again (said once)") unless @said
        @said = true
        @trouble = nil
        true
      end

      # The first attempt finds a connection closed that was kept, now and then, and is no trouble.
      def failed(words)
        @attempts += 1
        return false if @attempts == 1

        @log.warn("#{shown} #{words}: reports of downloads wait, #{Losses::WAITING_MAX} at most") unless @trouble
        @trouble = words
        false
      end

      # Without a password.
      def shown
        "#{@uri.scheme}://#{@uri.host}:#{@uri.port}#{@uri.path}"
      end
    end
  end
end
