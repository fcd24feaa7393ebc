# frozen_string_literal: true

# What an application under test tells the test about, without going through the server: one JSON
# line a happening, appended to the file that NB_TEST_EVENTS names. The application's half is
# AppEvents.put, the test's is AppEvents::Reader.

require "json"
require_relative "patience"

module AppEvents
  class Missing < StandardError; end

  if ENV.key?("NB_TEST_EVENTS")
    @file = File.open(ENV["NB_TEST_EVENTS"], File::WRONLY | File::APPEND | File::CREAT)
  end

  # @param name [String] what happened
  # @param tag [String] which request it belongs to
  def self.put(name, tag, **facts)
    @file.syswrite("#{JSON.generate({ event: name, tag: tag, **facts })}\n")
  end

  class Reader
    POLL_S = 0.003

    def initialize(path)
      @path = path
    end

    def all(name, tag)
      of(tag).select { |event| event["event"] == name }
    end

    # In the order they happened.
    def of(tag)
      File.exist?(@path) or return []

      complete = File.read(@path).lines.select { |line| line.end_with?("\n") }
      complete.map { |line| JSON.parse(line) }.select { |event| event["tag"] == tag }
    end

    # Waits until it has happened that often.
    # @raise [Missing] when it has not within `seconds`
    def await(name, tag, count: 1, seconds: Patience::SECONDS)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      until (found = all(name, tag)).size >= count
        if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
          raise Missing, "#{name} of #{tag} happened #{found.size} times within #{seconds} s, " \
                         "expected #{count}"
        end

        sleep POLL_S
      end
      found
    end
  end
end
