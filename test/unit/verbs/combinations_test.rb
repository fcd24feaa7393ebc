# frozen_string_literal: true

require_relative "verbs_case"
require "timeout"

# NB.all, NB.deadline, NB.offload and NB::FiberPool inside each other: some by hand, many by chance.
# NB_SEED repeats a run.
class CombinationsTest < VerbsCase
  PROGRAMS = 500
  Failure = VerbsCase::Failure

  def test_all_inside_a_deadline_inside_a_pool
    errors = []
    cleaned = 0
    run_loop do
      pool = NB::FiberPool.new(5, on_error: ->(error) { errors << error })
      20.times do |i|
        pool.spawn do
          NB.deadline(i.even? ? 0.002 : SECONDS) do
            NB.all(
              -> { i.even? ? sleep : sleep(0) },
              -> { NB.offload { i } },
              -> { i.even? ? sleep : i }
            )
          ensure
            sleep(0)
            cleaned += 1
          end
        end
      end
    end
    assert_equal [[NB::DeadlineExceeded] * 10, 20], [errors.map(&:class), cleaned]
  end

  def test_offload_inside_a_cancelled_all_inside_offload_inside_all
    run_loop do
      let_go = Queue.new
      failing = lambda do
        NB.all(-> { NB.offload { let_go.pop } }, -> { NB.offload { raise Failure } })
      rescue Failure
        :failed
      end
      work = -> { NB.offload { NB.all(-> { NB.offload { 1 } }, -> { sleep(0) and 2 }) } }
      values = NB.all(work, failing)
      assert_equal [[1, 2], :failed], values
      let_go << 1
      Thread.pass until idle?
    end
  end

  def test_a_connection_pool_inside_all_of_it_loses_none
    made = 0
    run_loop do
      connections = NB::Pool::FiberedConnectionPool.new(size: 3) { made += 1 }
      40.times do |i|
        NB.deadline(0.001) do
          NB.all(*6.times) do |j|
            connections.hold { j == i % 7 ? raise(Failure) : sleep(0.0004) }
          end
        end
      rescue NB::DeadlineExceeded, Failure
        nil
      end
      assert_equal({ held: 0, waiting: 0 }, connections.stats.slice(:held, :waiting))
    end
  end

  def test_five_hundred_by_chance
    seed = ENV.fetch("NB_SEED") { rand(1 << 30) }.to_i
    world = World.new
    programs = Array.new(PROGRAMS) { |i| Program.new(world, Random.new(seed + i)) }
    run_loop(60) { world.run(programs) }
    Thread.pass until idle?

    assert_empty world.complaints, "NB_SEED=#{seed}"
    assert_equal(
      { tokens: World::TOKENS, waiting: 0, inside: 0, ended: PROGRAMS },
      world.books, "NB_SEED=#{seed}"
    )
    assert_operator NB::Offload.pool.figures[:threads], :<=, NB.offload_threads
    assert_operator world.kinds.values.min, :>, PROGRAMS / 50,
                    "too few of some: #{world.kinds}, NB_SEED=#{seed}"
  end

  # What the programs share, and the books that have to balance in the end.
  class World
    TOKENS = 5
    FROM_OUTSIDE = "from outside"

    attr_reader :complaints, :tokens, :kinds
    attr_accessor :inside

    def initialize
      @tokens = Queue.new
      TOKENS.times { |i| @tokens << i }
      @complaints = []
      @inside = @ended = 0
      @kinds = Hash.new(0)
    end

    # @return what the programs balance to: nothing is held, nobody waits, and each block that was
    #   entered is left
    def books
      { tokens: @tokens.size, waiting: @tokens.num_waiting, inside: @inside, ended: @ended }
    end

    def run(programs)
      pool = NB::FiberPool.new(20, on_error: method(:complain))
      programs.each { |program| pool.spawn { play(program) } }
      trouble(pool, programs.size)
    end

    # What is raised from outside may come between two blocks of the pool.
    def complain(error)
      return if error.message == FROM_OUTSIDE

      @complaints << error.full_message(highlight: false)
    end

    private

    # Only these may leave a program; Cancelled in particular may not.
    def play(program)
      program.call
      @kinds[:value] += 1
    rescue Failure, NB::DeadlineExceeded, Timeout::Error => e
      @kinds[e.class] += 1
    ensure
      @ended += 1
    end

    # Raises into programs that run, from outside.
    def trouble(pool, count)
      until @ended == count
        sleep(0.003)
        strike(pool.fibers.sample)
      end
    end

    def strike(fiber)
      fiber&.raise(Failure, FROM_OUTSIDE)
    rescue FiberError
      nil # it has ended since
    end
  end

  # A tree of verbs, drawn before it runs.
  class Program
    LEAVES = %i[rest rest token token offload failure compute].freeze
    NODES = %i[all all limited deadline deadline timeout rescued ensured].freeze
    SECONDS = [0, 0.0002, 0.0005, 0.001, 0.002, 5].freeze

    def initialize(world, random)
      @world = world
      @random = random
      @root = draw(4)
    end

    def call
      @root.call
    end

    private

    def draw(depth)
      kind = (depth.zero? || @random.rand(4).zero? ? LEAVES : NODES).sample(random: @random)
      step = send(kind, depth - 1)
      -> { counted(&step) }
    end

    # Each block that is entered is left.
    def counted
      @world.inside += 1
      yield
    ensure
      @world.inside -= 1
    end

    def seconds
      SECONDS.sample(random: @random)
    end

    def rest(_depth)
      time = @random.rand * 0.001
      -> { sleep(time) }
    end

    def token(_depth)
      time = @random.rand * 0.0005
      lambda do
        token = @world.tokens.pop
        sleep(time)
      ensure
        @world.tokens << token if token
      end
    end

    def offload(_depth)
      mode = NB::Offload::ON_CANCEL.sample(random: @random)
      fails = @random.rand(5).zero?
      time = @random.rand * 0.0005
      -> { NB.offload(on_cancel: mode) { fails ? raise(Failure, "offloaded") : sleep(time) } }
    end

    def failure(_depth)
      -> { raise Failure, "drawn" }
    end

    def compute(_depth)
      -> { 200.times { |i| i.to_s * 3 } }
    end

    def all(depth)
      together(depth, nil)
    end

    def limited(depth)
      together(depth, @random.rand(1..2))
    end

    # No task of it runs any more when it is over, however that was.
    def together(depth, limit)
      steps = Array.new(@random.rand(1..4)) { draw(depth) }
      lambda do
        running = 0
        begin
          NB.all(*steps, limit: limit) do |step|
            running += 1
            step.call
          ensure
            running -= 1
          end
        ensure
          unless running.zero?
            @world.complain(RuntimeError.new("#{running} tasks were left behind"))
          end
        end
      end
    end

    def deadline(depth)
      time = seconds
      step = draw(depth)
      lambda do
        NB.deadline(time, &step)
      rescue NB::DeadlineExceeded => e
        if e.deadline.open?
          told = "an outer deadline's error was taken for an inner one's"
          @world.complain(RuntimeError.new(told))
        end
        raise if time < 0.0005
      end
    end

    def timeout(depth)
      time = seconds + 0.0001
      step = draw(depth)
      -> { Timeout.timeout(time) { step.call } }
    end

    def rescued(depth)
      step = draw(depth)
      lambda do
        step.call
      rescue StandardError
        sleep(0)
      end
    end

    def ensured(depth)
      step = draw(depth)
      last = rest(0)
      lambda do
        step.call
      ensure
        last.call
      end
    end
  end

  private

  def idle?
    NB::Offload.pool.figures.then { |now| now[:waiting].zero? && now[:idle] == now[:threads] }
  end
end
