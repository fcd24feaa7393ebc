# frozen_string_literal: true

# Posts reports to a URL, each as a JSON object, one after the other on a persistent connection.
# When the URL is not reachable or answers 5xx, reports wait and are tried again after growing
# pauses. Reports that exceed the queue are lost and logged. After a 3xx or 4xx a report is not
# tried again.
#
# A report may arrive twice, when the connection broke before its response was read.

require "json"
require "net/http"
require "neverblock/verbs/deadline"
require "neverblock/downloads/losses"
require "neverblock/version"
require "uri"

module NeverBlock
  module Downloads
    class Post
      # Seconds between two attempts: the first pause, doubled up to the last.
      FIRST_S = 0.1
      LAST_S = 5.0
      # Seconds for the last reports when the server ends.
      CLOSE_S = 3.0
      OPEN_S = 5
      ANSWER_S = 10
      # Seconds an idle connection is kept open.
      KEPT_S = 30

      # @param url [String] http:// or https://
      # @param log [Log]
      # @param count [#call] called with :posted, :refused or :lost and a number
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

      # Queues reports. Thread-safe; never blocks.
      # @param reports [Array<Report>]
      # @return [void]
      def offer(reports)
        fitting = @lock.synchronize do
          Losses.fitting(reports, @waiting.size).tap do |some|
            @waiting.concat(some)
            @news.signal
          end
        end
        @losses.add(reports.size - fitting.size,
                    "#{Losses::WAITING_MAX} wait to be posted to #{shown}, " \
                    "which #{@trouble || "is too slow"}")
      end

      # Posts reports for a short time, then ends the thread.
      # @param seconds [Numeric]
      # @return [void]
      def close(seconds = CLOSE_S)
        @lock.synchronize do
          @closing = true
          @news.broadcast
        end
        @thread.join(seconds) || @thread.kill
        @losses.add(@waiting.size,
                    "the server has ended, and #{shown} #{@trouble || "was too slow to take them"}")
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

      # The first report, which stays in the queue until it is delivered.
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

      # Waits; when the server ends, the wait is short.
      def wait(seconds)
        limit = Deadline.now + seconds
        @lock.synchronize do
          @news.wait(@lock, limit - Deadline.now) while !@closing && Deadline.now < limit
        end
        sleep(FIRST_S) if @closing
      end

      # Whatever goes wrong, the report is kept and tried again.
      # @return [Boolean] whether the report is done with
      def attempt(report)
        response = connection.request(request(report))
        return taken if response.is_a?(Net::HTTPSuccess)
        return refused(response) unless response.is_a?(Net::HTTPServerError)

        failed("answers #{response.code}")
      rescue StandardError => e
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
        headers = { "content-type" => "application/json", "accept-encoding" => "identity",
                    "user-agent" => "neverblock/#{VERSION}" }
        post = Net::HTTP::Post.new(@uri.request_uri, headers)
        authorize(post) if @uri.user
        post.body = report.to_json
        post
      end

      def authorize(post)
        user, password = [@uri.user, @uri.password.to_s].map do |text|
          URI.decode_www_form_component(text)
        end
        post.basic_auth(user, password)
      end

      def taken
        @count.call(:posted, 1)
        if @trouble
          @log.info("download reports are posted to #{shown} again; #{@waiting.size - 1} wait")
        end
        @trouble = nil
        true
      end

      # Logged once: a wrong URL refuses every report.
      def refused(response)
        @count.call(:refused, 1)
        unless @logged
          @log.warn("#{shown} answers #{response.code} to a download report, which is not posted " \
                    "again (logged once)")
        end
        @logged = true
        @trouble = nil
        true
      end

      # A first failed attempt is not logged: the server may have closed the idle connection.
      def failed(words)
        @attempts += 1
        return false if @attempts == 1

        unless @trouble
          @log.warn("#{shown} #{words}: download reports wait, at most #{Losses::WAITING_MAX}")
        end
        @trouble = words
        false
      end

      # The URL without its user and password.
      def shown
        "#{@uri.scheme}://#{@uri.host}:#{@uri.port}#{@uri.path}"
      end
    end
  end
end
