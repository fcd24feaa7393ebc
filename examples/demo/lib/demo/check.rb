# frozen_string_literal: true

# Drives the running demo with real requests: a few one after the other, then 200 at once. The
# server's own stamps show whether they ran side by side. Their content shows whether they are
# right.

require "json"
require "net/http"
require "uri"
require_relative "catalog"
require_relative "clock"
require_relative "suppliers"

module Demo
  class Check
    include Clock

    REQUESTS = 200
    SAMPLE = 5
    # Requests that must have run at the same moment. The rest allows for a slow machine, which
    # sends the last request when the first has ended.
    OVERLAP_MIN = 150
    # All at once must take less than this share of one after the other.
    SHARE_MAX = 0.1
    TIMEOUT_S = 60

    # One answer: from when to when by the server's clock, and what is wrong with it.
    Answer = Struct.new(:started, :finished, :faults)

    # @param url [String] of the demo
    # @param out [IO]
    def initialize(url, out: $stdout)
      @uri = URI(url)
      @out = out
      @faults = []
    end

    # @return [Boolean] whether all was as it should be
    def run
      check_pages
      serial = measure { (1..SAMPLE).map { |id| ask(id) } }
      say(format("%d requests one after the other: %.2f s, so %d would take %.0f s", SAMPLE,
                 serial[:seconds], REQUESTS, projected(serial)))
      together = measure { all_at_once }
      overlap = overlap(together[:answers])
      say(format("%d requests at once:             %.2f s", REQUESTS, together[:seconds]))
      say("at most #{overlap} of them ran at the same moment, by the server's own stamps")
      judge(serial, together, overlap)
      report
    end

    private

    def measure
      began = now
      answers = yield
      answers.each { |answer| @faults.concat(answer.faults) }
      { seconds: now - began, answers: answers }
    end

    def projected(serial)
      serial[:seconds] / SAMPLE * REQUESTS
    end

    # Every client is there and waiting before the first asks.
    def all_at_once
      gate = Thread::Queue.new
      clients = (1..REQUESTS).map do |id|
        Thread.new do
          gate.pop
          ask(id)
        end
      end
      gate.close
      clients.map(&:value)
    end

    def ask(id)
      response = get("/slow?id=#{id}")
      unless response.code == "200"
        fault = "/slow?id=#{id} answered #{response.code}: #{response.body.to_s[0, 100].strip}"
        return Answer.new(nil, nil, [fault])
      end

      seen = JSON.parse(response.body)
      Answer.new(seen["started"], seen["finished"], faults_of(id, seen))
    rescue SystemCallError, IOError, Timeout::Error, JSON::ParserError => e
      Answer.new(nil, nil, ["/slow?id=#{id}: #{e.class}: #{e.message}"])
    end

    def faults_of(id, seen)
      wanted = Suppliers::DELAYS_S.keys.to_h { |name| [name, Suppliers.answer(name, id)] }
      faults = []
      unless seen["product"].values_at("id", "name") == [id, Catalog.name_of(id)]
        faults << "/slow?id=#{id} is about another product: #{seen["product"]}"
      end
      unless seen["parts"] == wanted
        faults << "/slow?id=#{id} has the parts of another: #{seen["parts"]}"
      end
      unless seen["finished"] - seen["started"] >= Suppliers::DELAYS_S.values.sum - 0.01
        faults << "/slow?id=#{id} did not wait for its services"
      end
      faults
    end

    # The most intervals that share one moment. An interval that ends when another starts does not
    # overlap it.
    def overlap(answers)
      events = answers.select(&:started).flat_map do |answer|
        [[answer.started, 1], [answer.finished, -1]]
      end
      running = 0
      events.sort.map { |_, step| running += step }.max || 0
    end

    def check_pages
      expect("/", "200") { |body| body.include?("<title>NeverBlock demo</title>") }
      expect("/product?id=7", "200") { |body| body.include?(Catalog.name_of(7)) }
      expect("/sqlite", "200") do |body|
        JSON.parse(body)["kinds"].sum { |kind| kind["products"] } == Catalog::PRODUCTS
      end
      expect("/api/dashboard", "200") { |body| JSON.parse(body)["missing"] == [] }
      expect("/assets/app.js", "200") do |body|
        body == File.binread(File.expand_path("../../public/app.js", __dir__))
      end
      expect("/download", "200") { |body| body.start_with?("SQLite format 3\0") }
      expect("/error", "500") { true }
      expect("/nowhere", "404") { true }
    end

    def expect(path, code)
      response = get(path)
      return if response.code == code && yield(response.body.to_s.b)

      @faults << "#{path} answered #{response.code} (#{code} expected): " \
                 "#{response.body.to_s.b[0, 60].inspect}"
    rescue SystemCallError, IOError, Timeout::Error => e
      @faults << "#{path}: #{e.class}: #{e.message}"
    end

    def judge(serial, together, overlap)
      if overlap < OVERLAP_MIN
        @faults << "only #{overlap} requests overlapped, #{OVERLAP_MIN} expected"
      end
      return if together[:seconds] < projected(serial) * SHARE_MAX

      @faults << format("%d at once took %.1f s, less than %.1f s expected", REQUESTS,
                        together[:seconds], projected(serial) * SHARE_MAX)
    end

    def report
      say("every answer was right") if @faults.empty?
      @faults.first(10).each { |fault| say("WRONG: #{fault}") }
      say("and #{@faults.size - 10} more") if @faults.size > 10
      @faults.empty?
    end

    def get(path)
      Net::HTTP.start(@uri.host, @uri.port, open_timeout: TIMEOUT_S, read_timeout: TIMEOUT_S,
                      max_retries: 0) { |http| http.get(path) }
    end

    def say(line)
      @out.puts("demo: #{line}")
    end
  end
end
