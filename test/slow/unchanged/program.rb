# frozen_string_literal: true

require_relative "../../support/on_threads/comparison"
require_relative "habit"

module UnchangedHunt
  # One use of a habit: what it waits for at each of its marks, and the steps inside.
  Step = Struct.new(:habit, :number, :waits, :steps, keyword_init: true) do
    # @return [String]
    def text
      left = waits.dup
      habit.code.gsub(/^( *)__BODY__\n/) { inside.gsub(/^(?=.)/, Regexp.last_match(1)) }
           .gsub("__WAIT__") { left.shift }
           .gsub("__T__", "\"\#{id}-#{number}\"").gsub("__N__", number.to_s)
    end

    def without_wait(at)
      dup.tap { |step| step.waits = waits.dup.tap { |all| all[at] = "nil" } }
    end

    def setup = habit.setup.gsub("__N__", number.to_s)
    def inside = steps.map(&:text).join
    def all = [self, *steps.flat_map(&:all)]
    def to_s = "#{habit.name}#{"(#{steps.join(" ")})" unless steps.empty?}"
  end

  # What is asked of a program: by its number, so that every server is asked the same.
  class Questions
    STYLES = {
      get: [["GET", 0]], mixed: [["GET", 0], ["POST", 40], ["POST", 90_000], ["HEAD", 0]],
      large: [["POST", 240_000], ["POST", 10]], put: [["PUT", 3_000], ["DELETE", 0]]
    }.freeze
    HEADERS = { "x-hunt" => "a", "accept" => "text/html, */*;q=0.1", "x-two" => "b, c",
                "cookie" => "a=1; b=%20" }.freeze

    attr_reader :style

    def initialize(style) = @style = style

    # @return [Array(String, String, Hash, String)] method, query, headers, body
    def at(number)
      method, bytes = STYLES.fetch(style)[number % STYLES.fetch(style).size]
      form = method == "POST" ? { "content-type" => "application/x-www-form-urlencoded" } : {}
      headers = style == :get ? {} : HEADERS.merge(form)
      [method, (style == :get ? "" : "?n=#{number}&m=%7B"), headers,
       "a=#{number}&b=".ljust(bytes, "x")[0, bytes]]
    end
  end

  # A random program, as a tree of steps; what it becomes is text.
  class Program
    STEPS = 2..5
    DEPTH = 3

    attr_reader :name, :steps, :finish, :questions

    def initialize(name, steps, finish, questions)
      @name = name
      @steps = steps
      @finish = finish
      @questions = questions
    end

    # @param kinds [Array<Symbol>] that it may have
    def self.random(name, random, kinds: UnchangedHunt.kinds)
      Maker.new(random, kinds).program(name)
    end

    # @return [Program] one habit, and around another the shortest
    def self.single(name, habit)
      Maker.new(Random.new(0), [habit.kind]).single(name, habit)
    end

    def habits = [*steps.flat_map(&:all), finish].map { |step| step.habit.name }.uniq

    def kinds
      [*steps.flat_map(&:all), finish].map { |step| step.habit.kind }.uniq | kinds_of_waits
    end

    def database? = (kinds & %i[records sequel]).any?
    def size = steps.flat_map(&:all).size

    def with(steps: @steps, finish: @finish, questions: @questions, name: @name)
      Program.new(name, steps, finish, questions)
    end

    def to_s = "#{steps.join(" ")} #{finish} #{questions.style}"

    # @return [String] a module with the program's class in it
    def text
      all = [*steps.flat_map(&:all), finish]
      <<~RUBY
        module #{name.upcase}
        #{all.map(&:setup).join.gsub(/^(?=.)/, "  ")}
          class App < Hunt::Program
            def answer(env, id, out)
        #{(steps.map(&:text).join + finish.text).gsub(/^(?=.)/, "      ")}
            end
          end
        end
      RUBY
    end

    # @return [Array<Program>] each with less in it, the smallest first
    def smaller
      found = cuts(steps).map { |less| with(steps: less) }.reject { |program| program.steps.empty? }
      found << with(finish: plain_finish) unless finish.habit.name == :text_finish
      found << with(questions: Questions.new(:get)) unless questions.style == :get
      found.sort_by(&:size)
    end

    # @return [Array<Program>] with a wait less, each
    def calmer
      steps.flat_map(&:all).flat_map do |step|
        step.waits.each_index.reject { |at| step.waits[at] == "nil" }.map do |at|
          with(steps: replace(steps, step, step.without_wait(at)))
        end
      end
    end

    private

    def kinds_of_waits
      waits = steps.flat_map(&:all).flat_map(&:waits)
      WAITS.keys.select { |kind| kind != :any && waits.any? { |wait| WAITS[kind].include?(wait) } }
    end

    def plain_finish
      Step.new(habit: UnchangedHunt.habits[:text_finish], number: 0, waits: [], steps: [])
    end

    def cuts(list)
      list.each_index.flat_map do |at|
        before = list[0...at]
        after = list[at + 1..]
        inner = list[at].steps
        [before + after, *([before + inner + after] unless inner.empty?),
         *cuts(inner).map { |less|
           before + [list[at].dup.tap { |step| step.steps = less }] + after
         }]
      end
    end

    def replace(list, old, new)
      list.map do |step|
        step.equal?(old) ? new : step.dup.tap { |copy| copy.steps = replace(step.steps, old, new) }
      end
    end
  end

  # Chooses.
  class Maker
    KINDS = 2..4

    def initialize(random, kinds)
      @random = random
      @kinds = kinds.sample(random.rand(KINDS), random: random)
      @waits = WAITS.fetch(:any) * 2 + @kinds.flat_map { |kind| WAITS.fetch(kind, []) }
      @numbers = 0
    end

    def program(name)
      habits = UnchangedHunt.habits.each_value
      wanted = habits.select { |habit| @kinds.include?(habit.kind) }
      steps = Array.new(@random.rand(Program::STEPS)) { step(wanted, 1) }
      finish = if @random.rand(3).zero? || @kinds.include?(:rack)
                 step(habits.select(&:finish?), Program::DEPTH)
               else
                 Step.new(habit: UnchangedHunt.habits[:text_finish], number: 0, waits: [],
                          steps: [])
               end
      style = @kinds.include?(:rack) ? Questions::STYLES.keys.sample(random: @random) : :get
      Program.new(name, steps, finish, Questions.new(style))
    end

    def single(name, habit)
      if habit.finish?
        return Program.new(name, [one(:thread_is_the_same)], one(habit.name), Questions.new(:mixed))
      end

      Program.new(name, [one(habit.name)], one(:text_finish),
                  Questions.new(habit.kind == :rack ? :mixed : :get))
    end

    private

    def one(name)
      habit = UnchangedHunt.habits.fetch(name)
      Step.new(habit: habit, number: @numbers += 1, waits: Array.new(habit.waits) { |at|
        ["sleep(0.001)", "Hunt.spin(3_000)"][at % 2]
      }, steps: habit.around? ? [one(:last_match)] : [])
    end

    def step(habits, depth)
      habit = habits.sample(random: @random)
      number = @numbers += 1
      waits = Array.new(habit.waits) { @waits.sample(random: @random) }
      steps = []
      if habit.around?
        inner = depth < Program::DEPTH ? habits : habits.reject(&:around?)
        steps = Array.new(@random.rand(1..2)) { step(inner, depth + 1) }
      end
      Step.new(habit: habit, number: number, waits: waits, steps: steps)
    end
  end

  # The text of a rackup file, complete in itself.
  class Site
    # @param programs [Array<Program>]
    def self.text(programs)
      kinds = programs.flat_map(&:kinds).uniq
      hands_back = "use Hunt::HandBack\n" if kinds.include?(:records)
      apps = programs.map { |program| "\"#{program.name}\" => #{program.name.upcase}::App.new" }
      [OnThreads::PRELUDE, *kinds.map { |kind| UnchangedHunt.prelude_of(kind) },
       *programs.map(&:text),
       "#{hands_back}run Hunt::Site.new({ #{apps.join(", ")} })\n"].join("\n")
    end
  end
end
