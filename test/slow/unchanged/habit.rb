# frozen_string_literal: true

# A habit of applications, as text. It stands inside a method with `id` (the request's own text),
# `env` and `out` (what the answer shows). Its marks:
#
#   __WAIT__   an expression during which another request may run
#   __BODY__   other steps, on a line of its own
#   __N__      a number of this step's own
#   __T__      text of this request and this step's own
#
# On threads its answer must depend on nothing but the request. `setup` stands outside, in the
# program's module.

module UnchangedHunt
  Habit = Struct.new(:name, :kind, :setup, :code, keyword_init: true) do
    def around? = code.include?("__BODY__")
    def finish? = kind == :finishes
    def waits = code.scan("__WAIT__").size
  end

  class << self
    # @return [Hash{Symbol => Habit}] by name
    def habits = @habits ||= {}

    # @return [Array<Symbol>] those that a program is made of
    def kinds = habits.each_value.map(&:kind).uniq - [:finishes]

    # Those that follow are of that kind.
    def kind(name, &block)
      @kind = name
      instance_eval(&block)
    end

    def habit(name, code, setup: "")
      raise ArgumentError, "two habits are called #{name}" if habits.key?(name)

      habits[name] = Habit.new(name: name, kind: @kind, setup: setup, code: code)
    end

    # What habits of a kind need before everything else.
    def prelude_of(kind) = preludes[kind].to_s
    def preludes = @preludes ||= {}
    def needs(text) = preludes[@kind] = text
  end

  # Each takes a moment in which others run.
  WAITS = {
    any: ["sleep(0.001)", "Hunt.nap", "Hunt.spin(3_000)", "Hunt.spin(30_000)", "Thread.pass",
          "IO.select(nil, nil, nil, 0.001)", "Thread.new { Hunt.nap }.join",
          "Hunt.fetch(id)", "IO.pipe.each(&:close)",
          "Queue.new.tap { |queue| Thread.new { Hunt.nap; queue << 1 } }.pop"],
    processes: ["system(\"true\")", "`true`"],
    records: ["Hunt::Row.count",
              "ActiveRecord::Base.connection.select_value(\"select pg_sleep(0.001)\")"],
    sequel: ["Hunt::SEQUEL.get(Sequel.lit(\"pg_sleep(0.001)\"))"]
  }.freeze
end

Dir[File.join(__dir__, "habits/*.rb")].sort.each { |file| require file }
