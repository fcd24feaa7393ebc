# frozen_string_literal: true

# A long mixture of every wait, on two loops in two threads, with random cancels, timeouts, closes and forks. It runs as a process of its own, so that memory
# and descriptors are its own:
#
#   ruby test/support/scheduler_soak.rb WAITS SEED FIBERS      # prints one line of JSON; exit status 0 when every invariant held
#
# What it checks: a wait ends once and for its own reason; what is pushed is popped once; who is inside a lock is alone; an exception raised into a fiber
# arrives there once; no wait lasts longer than NB_SOAK_STUCK_S (a lost wake: exit status 3); memory, descriptors and fibers do not grow.

$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "json"
require "monitor"
require "open3"
require "socket"
require "timeout"
require "neverblock/scheduler"

class SchedulerSoak
  LOOPS = 2

  # No StandardError: IO.pipe with a block swallows what is raised in the close at its end, which waits on Ruby 3.4 (io.c, io_close).
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
  # @return [Array(Hash, String, Process::Status)] its figures (empty when it printed none), what it said on standard error, its end
  def self.spawn(waits:, seed:, fibers:)
    out, err, status = Open3.capture3(RbConfig.ruby, "-W0", __FILE__, waits.to_s, seed.to_s, fibers.to_s)
    [out.empty? ? {} : JSON.parse(out), err, status]
  end

  # @param waits [Integer] after how many it ends
  # @param fibers [Integer] how many wait at once, besides those they start
  def initialize(waits, seed, fibers)
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
    Array.new(LOOPS) { |number| Thread.new { live(shared, number) } }.each(&:join)
    shared.finish(helpers)
    figures(@books.clock - began)
  end

  private

  def live(shared, number)
    Fiber.set_scheduler(NeverBlock::Scheduler.new)
    @books.fiber { shared.accept }
    (@fibers / LOOPS).times do |index|
      waits = Waits.new(@books, shared, Random.new((@seed * 1_000_003) + (index * LOOPS) + number))
      shared.enter
      @books.fiber { waits.live }
    end
    Fiber.scheduler.run
    Fiber.set_scheduler(nil)
  end

  def figures(seconds)
    { ruby: RUBY_VERSION, seed: @seed, fibers: @fibers, waits: @books.done, seconds: seconds.round(1), waits_a_second: (@books.done / seconds).round,
      kinds: @books.kinds.sort_by { |_, count| -count }.to_h, cancels: @books.had, **@watch.stop, failures: @books.account + @watch.failures }
  end
end

if $PROGRAM_NAME == __FILE__
  waits, seed, fibers = ARGV.map { |argument| Integer(argument, 10) }
  figures = SchedulerSoak.new(waits, seed, fibers).run
  puts JSON.generate(figures)
  exit(figures[:failures].empty?)
end
