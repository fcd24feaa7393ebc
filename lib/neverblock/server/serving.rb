# frozen_string_literal: true

# Facts about the server of this process, for parts that choose sizes by them: how many requests run
# at once, and how many processes serve.

module NeverBlock
  class Serving
    # @return [Integer] most requests at once in this process
    attr_reader :fibers
    # @return [Integer] number of processes that serve, with this one
    attr_reader :workers

    # @param log [Log, nil]
    # @param speaks [Boolean] whether this process logs what is the same in all of them
    def initialize(fibers:, workers: 1, log: nil, speaks: true)
      @fibers = fibers
      @workers = workers
      @log = log
      @speaks = speaks
    end

    # @param text [String] an entry that only one of the workers logs
    def info(text)
      @log&.info(text) if @speaks
    end

    # @param text [String] see #info
    def warn(text)
      @log&.warn(text) if @speaks
    end
  end

  class << self
    # @return [Serving, nil] nil: no server runs in this process
    attr_accessor :serving
  end
end
