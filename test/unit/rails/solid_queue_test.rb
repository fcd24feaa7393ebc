# frozen_string_literal: true

require "test_helper"
require "neverblock/rails/solid_queue"
require_relative "../../support/clock"

# When Solid Queue's processes are started again. The real ones are in
# test/integration/rails_solid_queue_test.rb.
class SolidQueueTest < Minitest::Test
  # Lives for given times, and notes how long it waits before it is started again.
  class Process < NeverBlock::SolidQueueProcess
    attr_reader :waits

    def initialize(clock, lives)
      super(self)
      @clock = clock
      @lives = lives
      @waits = []
    end

    def warn(_text); end

    def join
      @thread.join
    end

    private

    def run
      @clock.now += @lives.shift
    end

    def sleep(seconds)
      @waits << seconds
      @stopping = @lives.empty?
    end
  end

  # By the seconds that it lives each time.
  {
    [0] * 7 => [1, 2, 4, 8, 16, 30, 30],
    [0, 0, 0, 0, 0, 31, 0, 29] => [1, 2, 4, 8, 16, 1, 2, 4]
  }.each do |lives, waits|
    define_method("test_after_lives_of_#{lives.join("_")}_seconds") do
      Clock.rule do |clock|
        process = Process.new(clock, lives.dup).start
        process.join
        assert_equal waits, process.waits
      end
    end
  end
end
