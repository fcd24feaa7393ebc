# frozen_string_literal: true

# What serves requests in this process, for parts that size something by it: how many requests run at once, and in how many processes like this one.

module NeverBlock
  class Serving
    # @return [Integer] most requests at once in this process
    attr_reader :fibers
    # @return [Integer] processes that serve, this one among them
    attr_reader :workers

    # @param log [Log, nil]
    # @param speaks [Boolean] whether this is the one process of them that tells what holds for all
    def initialize(fibers:, workers: 1, log: nil, speaks: true)
      @fibers = fibers
      @workers = workers
      @log = log
      @speaks = speaks
    end

    # @param text [String] what is the same in all workers, and told by one of them
    def info(text)
      @log&.info(text) if @speaks
    end

    # @param text [String] as #info
    def warn(text)
      @log&.warn(text) if @speaks
    end
  end

  class << self
    # @return [Serving, nil] nil: no server runs in this process
    attr_accessor :serving
  end
end
