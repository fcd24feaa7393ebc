# frozen_string_literal: true

# Gems in C that call Ruby in the middle of their work, each by a method of GemCallbacks. Methods
# are in callbacks/, a file for each kind of gem. Each call goes through a turn, which computes past
# a time slice and waits. For every third request it raises.
# GET /NAME?me=N is answered by the method NAME. As a program it prints the answers of all methods
# on plain threads, one after the other:
#
#   ruby app_callbacks.rb ASKERS NAME...

require "json"
require "stringio"

class GemCallbacks
  class Failed < StandardError; end

  # What a callback does, of one request.
  class Turn
    attr_reader :count

    def initialize(me)
      @me = me
      @count = 0
    end

    # @return what it was given
    def call(value = true)
      @count += 1
      compute if @count == 2
      sleep(0.0004 * ((@me * 7 % 5) + 1))
      raise Failed, "of #{@me} in turn #{@count}" if @me % 3 == 2 && @count == 3

      value
    end

    private

    # Longer than a slice of 2 ms.
    def compute
      ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.004
      nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > ends
    end
  end

  # An IO that gives little at a time.
  class Drops
    def initialize(text, turn, size)
      @io = StringIO.new(text)
      @turn = turn
      @size = size
    end

    def read(size = nil, buffer = nil)
      return @io.read if size.nil?

      @turn.call
      buffer ? @io.read([size, @size].min, buffer) : @io.read([size, @size].min)
    end

    def readpartial(size, *buffer) = read(size, *buffer) || raise(EOFError)
    def close = nil
  end

  # What is required in the request, for the methods whose names begin so; for others their own
  # name.
  LIBRARIES = { "json" => "json", "libxml" => "libxml-ruby", "miniracer" => "mini_racer",
                "mysql" => "mysql2", "protobuf" => "google/protobuf", "racc" => "nokogiri",
                "rubyprof" => "ruby-prof", "sqlite" => "sqlite3", "vips" => "ruby-vips" }.freeze

  class << self
    # @return what it answers, with what it raised
    def answer(name, me)
      # Before others that have a libxml2: the one of the precompiled nokogiri would be theirs, and
      # lacks a patch then.
      require "nokogiri"
      library = name[/\A[a-z]+/]
      require LIBRARIES.fetch(library, library)
      turn = Turn.new(me)
      [begin
        new.public_send(name, me, turn)
      rescue StandardError => e
        "#{e.class}: #{e.message}"
      end, turn.count]
    rescue LoadError => e
      [{ "missing" => e.message }, 0]
    end
  end

  def call(env)
    me = Integer(env["QUERY_STRING"][/me=(\d+)/, 1])
    name = env["PATH_INFO"].delete_prefix("/")
    [200, {}, [JSON.generate(name == "hog" ? hog : self.class.answer(name, me))]]
  end

  def hog
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
    "hog"
  end
end

Dir[File.join(__dir__, "callbacks", "*.rb")].sort.each { |file| require file }

class GemCallbacks
  include Databases, Documents, Images, Json, Markup, Networks, Programs, Values
end

if $PROGRAM_NAME == __FILE__
  askers, *names = ARGV
  answers = names.to_h do |name|
    [name, Array.new(Integer(askers)) { |me| Thread.new { GemCallbacks.answer(name, me) }.value }]
  end
  puts JSON.generate(answers)
  # The end of librdkafka 2.8's mock cluster may wait for ever, for a queue that is gone
  # (rd_kafka_mock_cluster_destroy).
  $stdout.flush && exit!(true)
end
