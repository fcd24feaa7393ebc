# frozen_string_literal: true

module UnchangedHunt
  # Makes a program that differs smaller while it still does.
  class Reduction
    ATTEMPTS = 12

    def initialize(comparison, report: $stdout)
      @comparison = comparison
      @report = report
    end

    # @param difference [Difference]
    # @return [Difference] of the smallest program found
    def of(difference)
      ATTEMPTS.times do
        smaller = smaller(difference, difference.program.smaller) ||
                  smaller(difference, difference.program.calmer) or break
        difference = smaller
        @report.puts "    smaller: #{difference.program}"
      end
      difference
    end

    private

    # All candidates in one server.
    def smaller(difference, candidates)
      named = candidates.each_with_index.map { |program, at| program.with(name: "c#{at}") }
      return if named.empty?

      found, = @comparison.of(named, [difference.mode])
      named.filter_map { |program| found.find { |one| one.program.equal?(program) } }.first
    end
  end
end
