# frozen_string_literal: true

# Tests for what fibers change. Random small Rack programs are made of habits of applications and
# gems (unchanged/habits). Puma with a thread for each request and NeverBlock get the same requests,
# many at once. NeverBlock runs calm, with time slices of 1 ms, and beside requests that compute.
# The answers are compared, and so are the descriptors, threads, children, fibers and connections
# that are left. A program that Puma answers in two ways is dropped. One that differs is made
# smaller and printed as a rackup file.
#
#   NB_HUNT_SECONDS=3600     in all; default 180          NB_HUNT_PROGRAMS=12    in one server
#   NB_HUNT_SEED=123         this seed's programs alone   NB_HUNT_CLIENTS=16
#   NB_HUNT_KINDS=threads,io of these kinds only          NB_HUNT_MODES=calm,sliced,hogs,workers
#   NB_HUNT_KNOWN=1          also what the guide tells of
#   NB_HUNT_REDUCE=0         differences as they were found
#   NB_HUNT_WITHOUT=lazy,zip no programs with these habits

$stdout.sync = true
require "minitest/autorun"
require_relative "../support/gem_bundle"
require_relative "unchanged/known"
require_relative "unchanged/program"
require_relative "unchanged/reduction"

class UnchangedHuntTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("NB_HUNT_SECONDS", "180"), 10)
  PROGRAMS = Integer(ENV.fetch("NB_HUNT_PROGRAMS", "12"), 10)
  CLIENTS = Integer(ENV.fetch("NB_HUNT_CLIENTS", "16"), 10)
  KINDS = ENV.fetch("NB_HUNT_KINDS", UnchangedHunt.kinds.join(",")).split(",").map(&:to_sym)
  MODES = ENV.fetch("NB_HUNT_MODES", "calm,sliced,hogs,workers").split(",").map(&:to_sym)
  # For each program that is run, so many are drawn at most.
  DRAWS = 10
  WITHOUT = ENV.fetch("NB_HUNT_WITHOUT", "").split(",").map(&:to_sym)
  BUNDLE = GemBundle.new(File.expand_path("unchanged/Gemfile", __dir__),
                         "unchanged-#{RUBY_VERSION}")
  FOLDER = File.join(ServerProcess::ROOT, "tmp/hunt")

  # Each habit by itself, and what it says of itself: the shortest programs there are.
  def test_each_habit_alone
    skip "NB_HUNT_SEED is for random programs" if ENV.key?("NB_HUNT_SEED")
    prepare(rounds: 3)
    kinds = KINDS + [:finishes]
    wanted = UnchangedHunt.habits.each_value.select { |habit| kinds.include?(habit.kind) }
    wanted.each_slice(30) do |habits|
      programs = habits.each_with_index
                       .map { |habit, at| UnchangedHunt::Program.single("p#{at}", habit) }
                       .reject { |program| known?(program) }
      compare("singles", programs, reduce: false)
    end
    verdict
  end

  def test_answers_are_those_of_threads_and_nothing_is_left
    prepare
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
    seeds { |seed| piece(seed) && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit }
    verdict
  end

  private

  def prepare(**options)
    BUNDLE.env # the first time takes longer than a request
    @comparison = OnThreads::Comparison.new(site: UnchangedHunt::Site.method(:text), bundle: BUNDLE,
                                            clients: CLIENTS, **options)
    @seen = []
    @counts = Hash.new(0)
  end

  def verdict
    puts "unchanged hunt: #{@counts}"
    assert_empty(@seen.map { |difference| "#{difference.program}\n  #{difference}" }.join("\n"))
  end

  # Each is yielded until the block is false.
  def seeds
    return yield(Integer(ENV["NB_HUNT_SEED"], 10)) if ENV.key?("NB_HUNT_SEED")

    first = Random.new_seed % 1_000_000
    (first..).each { |seed| break unless yield(seed) }
  end

  def piece(seed)
    random = Random.new(seed)
    drawn = (0...PROGRAMS * DRAWS).lazy.map do |number|
      UnchangedHunt::Program.random("p#{number}", random, kinds: KINDS)
    end
    compare("seed #{seed}", drawn.reject { |program| known?(program) }.first(PROGRAMS))
  end

  # @return [true]
  def compare(name, programs, reduce: ENV["NB_HUNT_REDUCE"] != "0")
    puts "#{name}: #{programs.size} programs"
    differences, unsteady = programs.empty? ? [[], []] : @comparison.of(programs, MODES)
    @counts[:programs] += programs.size
    @counts[:dropped] += unsteady.size
    unsteady.each do |difference|
      puts "  dropped #{difference.program.name}: #{difference.program}",
           "    #{difference.seen.to_s.lines.first}"
    end
    differences.uniq { |difference| difference.program.name }.each do |difference|
      tell(name, difference, reduce)
    end
    true
  end

  # One of the guide's, or of those found before: what it may hide is found by other programs.
  def known?(program)
    sets = @seen.map { |difference| difference.program.habits - [:text_finish] }
    sets += WITHOUT.map { |habit| [habit] }
    sets += UnchangedHunt::KNOWN.keys unless ENV.key?("NB_HUNT_KNOWN")
    sets.any? { |set| (set - program.habits).empty? }
  end

  def tell(name, difference, reduce)
    return if known?(difference.program)

    puts "  #{difference.program.name} differs, #{difference}"
    difference = UnchangedHunt::Reduction.new(@comparison).of(difference) if reduce
    @seen << difference
    @counts[:differences] += 1
    puts "  #{name}, #{difference.program.name}: #{difference.program}", "  #{difference}",
         "  #{keep(name, difference)}"
  end

  # @return [String] the path of a rackup file
  def keep(name, difference)
    FileUtils.mkdir_p(FOLDER)
    path = File.join(FOLDER, "#{name.tr(" ", "-")}-#{difference.program.habits.first}.ru")
    comment = "# #{difference.to_s.gsub("\n", "\n# ")}\n" \
              "# Ask #{CLIENTS} at once for /#{difference.program.name}/ID, " \
              "#{difference.program.questions.style}.\n"
    File.write(path, comment + UnchangedHunt::Site.text([difference.program]))
    path
  end
end
