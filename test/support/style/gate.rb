# frozen_string_literal: true

module Style
  # Runs rules and prints what breaks them: the body of bin/check.
  class Gate
    ROOT = File.expand_path("../../..", __dir__)
    RULES = [SourceList, RubyFreeCore, IncludeDirection, NoCircles, FolderSize, FileLength,
             TestLength, TestNames, CommentColumns, FunctionLength, NoLeftovers, MachineNames,
             ShellCheck, ClangFormat, RuboCop, Signatures, CoreWarnings, BindingWarnings].freeze
    OPTIONS = %w[--fix --graph --hints --list --times].freeze

    # @param arguments [Array<String>] as typed after bin/check
    def initialize(arguments, root: ROOT, out: $stdout)
      @options, @names = arguments.partition { |word| word.start_with?("--") }
      @root = root
      @out = out
    end

    # @return [Integer] exit status
    def run
      unknown = @names - RULES.map { |rule| name(rule) } + (@options - OPTIONS)
      return refuse(unknown) unless unknown.empty?
      return list if @options.include?("--list")
      return graph if @options.include?("--graph")

      rules = RULES.select { |rule| @names.empty? || @names.include?(name(rule)) }.map(&:new)
      fix(rules) if @options.include?("--fix")
      broken = rules.count { |rule| check(rule) }
      said = if broken.zero?
               "all #{rules.size} rules are kept"
             else
               "#{broken} of #{rules.size} rules are broken (bin/check --fix mends layout)"
             end
      @out.puts(said)
      broken.zero? ? 0 : 1
    end

    private

    def name(rule)
      rule.name.split("::").last
    end

    def fix(rules)
      tree = Tree.new(@root)
      rules.each { |rule| rule.fix(tree) if rule.respond_to?(:fix) }
    end

    def check(rule)
      tree = (@tree ||= Tree.new(@root))
      found, times = timed { rule.violations(tree) }
      hints = @options.include?("--hints") && rule.respond_to?(:hints) ? rule.hints(tree) : []
      @out.puts("#{found.empty? ? "ok  " : "FAIL"} #{name(rule.class)}: #{rule.class::ABOUT}")
      @out.puts("     #{times}") if @options.include?("--times")
      found.each { |violation| @out.puts("     #{violation}") }
      hints.each { |hint| @out.puts("     hint: #{hint}") }
      found.any?
    end

    # @return [Array(Object, String)] the block's result, and what it took
    def timed
      began, used = seconds
      result = yield
      ended, used_then = seconds
      [result, format("%.1f s, %.1f s of processors", ended - began, used_then - used)]
    end

    # @return [Array(Float, Float)] of the clock, and of processors, with processes that have ended
    def seconds
      [Process.clock_gettime(Process::CLOCK_MONOTONIC), Process.times.to_a.sum]
    end

    def list
      RULES.each { |rule| @out.puts("#{name(rule)}: #{rule::ABOUT}") }
      0
    end

    def graph
      @out.puts(GraphText.new(ModuleGraph.new(Tree.new(@root))).lines)
      0
    end

    def refuse(words)
      known = RULES.map { |rule| name(rule) }
      warn("bin/check: unknown #{words.join(" ")}; rules are #{known.join(" ")}")
      1
    end
  end
end
