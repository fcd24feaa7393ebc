# frozen_string_literal: true

# The runs there are: at most one at work, the last few kept to be looked at.

require "securerandom"
require_relative "run"

module Demo
  class Runs
    REQUESTS = 200
    KEPT = 4

    # The demo does not know where it listens.
    class Unavailable < StandardError; end

    # @param address_file [String, nil] a file with the demo's address and its admin address, from
    #   the launcher
    def initialize(address_file)
      @address_file = address_file
      @runs = {}
      @pool = NB::FiberPool.new(1)
    end

    # Starts one, or joins the one at work: two pages open do not make 400.
    # @return [Run]
    # @raise [Unavailable]
    def start
      at_work = @runs.each_value.find { |run| !run.ended? }
      return at_work if at_work

      run = Run.new(SecureRandom.hex(8), address, REQUESTS)
      @runs[run.id] = run
      @runs.shift while @runs.size > KEPT
      @pool.spawn { run.perform }
      run
    end

    # @return [Run, nil]
    def find(id)
      @runs[id]
    end

    private

    def address
      unless @address_file && File.exist?(@address_file)
        raise Unavailable, "the demo does not know its own address: start it with bin/demo"
      end

      File.readlines(@address_file).first.strip
    end
  end
end
