# frozen_string_literal: true

# A long mixture of every wait, on two loops in two threads, with random cancels, timeouts, closes
# and forks. It runs as a process of its own, so that memory and descriptors are its own:
#
#   ruby test/support/scheduler_soak.rb WAITS SEED FIBERS [slices]
#
# It prints one line of JSON. Its exit status is 0 when every invariant held.
#
# What it checks: a wait ends once and for its own reason; what is pushed is popped once; who is
# inside a lock is alone; an exception raised into a fiber arrives there once; no wait lasts longer
# than NB_SOAK_STUCK_S (a lost wake: exit status 3); memory, descriptors and fibers do not grow.

$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "json"
require "monitor"
require "open3"
require "socket"
require "timeout"
require "neverblock/scheduler"

class SchedulerSoak
  LOOPS = 2
  SLICE_MS = 1
  SLICE_PAUSE_S = 0.0003

  # No StandardError: IO.pipe with a block swallows what is raised in the close at its end, which
  # waits on Ruby 3.4 (io.c, io_close).
  class Cancelled < Exception # rubocop:disable Lint/InheritException -- see above
    attr_reader :id

    def initialize(id)
      @id = id
      super("cancel #{id}")
    end
  end
end

require_relative "scheduler_soak/books"
require_relative "scheduler_soak/waits"
require_relative "scheduler_soak/watch"

class SchedulerSoak
  # Runs a soak as a process.
  # @return [Array(Hash, String, Process::Status)] its figures (empty when it printed none), what it
  #   said on standard error, its end
  def self.spawn(waits:, seed:, fibers:, slices: false)
    out, err, status = Open3.capture3(RbConfig.ruby, "-W0", __FILE__, waits.to_s, seed.to_s,
                                      fibers.to_s, *("slices" if slices))
    [out.empty? ? {} : JSON.parse(out), err, status]
  end

  # @param waits [Integer] after how many it ends
  # @param fibers [Integer] how many wait at once, besides those they start
  # @param slices [Boolean] whether fibers are left where they compute, too, as often as that can be
  def initialize(waits, seed, fibers, slices: false)
    @slices = slices
    @sliced = []
    @fibers = fibers
    @seed = seed
    @books = Books.new(waits)
    @watch = Watch.new(@books)
  end

  # @return [Hash] the figures; :failures is empty when all was well
  def run
    began = @books.clock
    shared = Shared.new(@books)
    @watch.start
    helpers = shared.start_helpers
    slicer = Thread.new { slice } if @slices
    Array.new(LOOPS) { |number| Thread.new { live(shared, number) } }.each(&:join)
    shared.finish(helpers)
    slicer&.kill
    figures(@books.clock - began)
  end

  private

  # Asks for the end of a slice all the time, wherever a fiber may be.
  def slice
    loop do
      @sliced.each(&:end_timeslice)
      sleep(SLICE_PAUSE_S)
    end
  end

  def live(shared, number)
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    @sliced << Fiber.scheduler if @slices
    Fiber.scheduler.slice_ms = SLICE_MS if @slices
    @books.fiber { shared.accept }
    (@fibers / LOOPS).times do |index|
      waits = Waits.new(@books, shared, Random.new((@seed * 1_000_003) + (index * LOOPS) + number))
      shared.enter
      @books.fiber { waits.live }
    end
    Fiber.scheduler.run
    @preemptions = @preemptions.to_i + Fiber.scheduler.preemptions
    Fiber.set_scheduler(nil)
  end

  def figures(seconds)
    {
      ruby: RUBY_VERSION,
      seed: @seed,
      fibers: @fibers,
      waits: @books.done,
      preemptions: @preemptions,
      seconds: seconds.round(1),
      waits_a_second: (@books.done / seconds).round,
      kinds: @books.kinds.sort_by { |_, count| -count }.to_h,
      cancels: @books.had,
      **@watch.stop,
      failures: @books.account + @watch.failures
    }
  end
end

if $PROGRAM_NAME == __FILE__
  waits, seed, fibers = ARGV.first(3).map { |argument| Integer(argument, 10) }
  figures = SchedulerSoak.new(waits, seed, fibers, slices: ARGV[3] == "slices").run
  puts JSON.generate(figures)
  exit(figures[:failures].empty?)
end
