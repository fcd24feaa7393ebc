# frozen_string_literal: true

# One client of the race hunt. It sends one request after the other on a kept connection, as a seed
# says, and knows each answer.

require "digest"
require "neverblock"
require_relative "../../support/wire"
require_relative "work"

module StallsHunt
  # An answer that is not what it must be.
  class Wrong < StandardError; end

  class Client
    # What it does, and the parts of a hundred of each way to mix them.
    MIXES = {
      "plain" => { burst: 60, work: 12, shared: 12, call: 1, database: 4, stream: 4, upload: 2,
                   file: 2, leave: 2, lane: 1 },
      "slices" => { burst: 12, work: 50, shared: 20, call: 1, database: 6, stream: 6, upload: 2,
                    file: 1, leave: 2, lane: 2 },
      "calls" => { burst: 50, work: 6, shared: 14, call: 15, database: 5, stream: 4, upload: 2,
                   file: 1, leave: 2, lane: 1 },
      "libraries" => { burst: 25, work: 6, shared: 6, call: 1, database: 28, rails: 26, stream: 3,
                       upload: 1, file: 1, leave: 2, lane: 1 }
    }.freeze
    BURST_MAX = 60
    SIZES = (1..10)
    SHARED = %w[mutex monitor seats queue bounded locals timeout deadline all failing offload thread
                raised].freeze
    DATABASE = %w[pg_short pg_rows pg_write sequel_short sequel_rows sequel_write sqlite].freeze
    RAILS = %w[page rows write undone cache stream].freeze
    CALLS = %w[usleep flock holding blocking keeping_the_lock].freeze
    CALL_US = (14_000..20_000)

    # @return [Hash{Symbol => Integer}] requests answered as they must be, by what it did
    attr_reader :counts

    # @param url [String]
    # @param mix [String] of MIXES
    # @param rails [Boolean] whether it may ask for actions
    # @param random [Random]
    # @param name [String] its own
    def initialize(url, mix:, rails:, random:, name:)
      @url = url
      @random = random
      @name = name
      @number = 0
      @counts = Hash.new(0)
      @weights = MIXES.fetch(mix).reject { |what, _| what == :rails && !rails }
      @values = Hash.new { |values, key| values[key] = Work.value(*key) }
    end

    # @yieldreturn [Boolean] whether to go on
    # @raise [Wrong, Wire::Error]
    def run
      send(pick) while yield
    ensure
      @wire&.close
    end

    private

    def pick
      chosen = @random.rand(@weights.values.sum)
      @weights.find { |_, weight| (chosen -= weight).negative? }.first
    end

    def wire
      @wire ||= Wire::Client.open(@url)
    end

    def new_id
      "#{@name}n#{@number += 1}"
    end

    def size = @random.rand(SIZES)
    def one_of(all) = all.sample(random: @random)

    # @param target [String] behind the id
    # @param value what the answer says behind it; a block is given what it says instead
    def ask(what, kind, target, value = nil)
      id = new_id
      wire.get(path = "/#{kind}/#{id}/#{target}")
      value = yield(id) if block_given?
      judge(what, path, id, value)
    end

    def judge(what, path, id, value)
      response = wire.response
      expected = "#{id}|#{value}"
      unless response.status == 200 && response.body == expected
        raise Wrong, "#{path}: #{response.status} #{response.body[0, 300].inspect}, not " \
                     "#{expected[0, 200].inspect}"
      end

      @wire = @wire.close if response.announces_close?
      @counts[what] += 1
    end

    # Many at once on one connection, all there before the first is answered.
    def burst
      ids = Array.new(@random.rand(1..BURST_MAX)) { new_id }
      wire.write(ids.map { |id| "GET /hello/#{id} HTTP/1.1\r\nHost: test\r\n\r\n" }.join)
      ids.each { |id| judge(:hello, "/hello/#{id}", id, "hello") }
    end

    def work = computed(:work)
    def lane = computed(:lane)

    def computed(kind)
      name = one_of(Work.names)
      some = size
      ask(kind, kind, "#{some}/#{name}", @values[[name, some]])
    end

    def shared
      name = one_of(SHARED)
      ask(:shared, "shared", "#{size}/#{name}") { |id| id }
    end

    def call
      name = one_of(CALLS)
      ask(:call, "call", "#{@random.rand(CALL_US)}/#{name}", name)
    end

    def database
      name = one_of(DATABASE)
      ask(:"database #{name[/\A[a-z]+/]}", "database", "#{size}/#{name}") { |id| id }
    end

    def stream
      some = size
      ask(:stream, "stream", "#{some}/#{one_of(%w[parts enumerator called])}") do |id|
        "#{id};" * (some - 1)
      end
    end

    def file
      some = size
      ask(:file, "file", some) { |id| "#{id};" * some }
    end

    # Small, in a file, and read while it comes.
    def upload
      id = new_id
      bytes = @random.bytes(
        @random.rand(2).zero? ? @random.rand(1..9_000) : @random.rand(70_000..160_000)
      )
      path = "/#{one_of(%w[upload taken])}/#{id}"
      wire.write("POST #{path} HTTP/1.1\r\nHost: test\r\nContent-Length: #{bytes.bytesize}\r\n\r\n")
      wire.write(bytes)
      judge(:upload, path, id, Digest::SHA256.hexdigest(bytes))
    end

    def rails
      name = one_of(RAILS)
      some = size
      ask(:rails, "rails", "#{some}/#{name}") { |id| action_value(name, id, some) }
    end

    def action_value(name, id, some)
      case name
      when "page"
        "#{Array.new(some * 10) { |number| "<i>#{Work.turn(number)}</i>" }.join}|#{id}|true\n"
      when "rows" then "rows"
      when "write" then "#{id}!"
      when "undone" then false
      when "cache" then @values[["a_sort_by", some]]
      else Array.new(some) { |number| "#{number};" }.join
      end
    end

    # Of another connection, which is closed before the answer, at any moment of its request.
    def leave
      Wire::Client.open(@url) do |other|
        other.get("/shared/#{new_id}/#{size}/left")
        sleep(@random.rand * 0.02) if @random.rand(2).zero?
        @random.rand(2).zero? ? other.abort : other.close
      end
      @counts[:left] += 1
    end
  end
end
