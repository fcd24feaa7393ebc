# frozen_string_literal: true

# What has been found, for people and for programs.

require "json"
require "neverblock/check/finding"
require "neverblock/version"

module NeverBlock
  module Check
    class Report
      WIDTH = 120
      ROOT = File.expand_path("../../..", __dir__)

      # @param run [Run] that has ended
      # @param rackup [String] as it was named
      # @param environment [String] what the application ran as
      def initialize(run, rackup:, environment:)
        @findings = run.findings
        @facts = run.facts
        @rackup = rackup
        @environment = environment
      end

      # @return [String]
      def text
        "#{head}\n\n#{@findings.map { |finding| entry(finding) }.join("\n")}\n#{foot}\n"
      end

      # @return [String] one object; findings are the worst first
      def json
        document = { neverblock: VERSION, application: @rackup, environment: @environment, **@facts, **counts, findings: @findings.map(&:to_h) }
        "#{JSON.pretty_generate(document)}\n"
      end

      private

      def counts
        LEVELS.to_h { |level| [level, @findings.count { |finding| finding.level == level }] }
      end

      def head
        gems = @facts[:gems] && "#{@facts[:gems]} gems#{" (#{File.basename(@facts[:lock])})" if @facts[:lock]}"
        processes = @facts[:workers] && "#{@facts[:workers]} process#{"es" unless @facts[:workers] == 1} with up to #{@facts[:fibers]} requests at once"
        ["NeverBlock #{VERSION} looked at #{@rackup} (#{@environment})", @facts[:ruby], processes, gems].compact.join(", ")
      end

      def entry(finding)
        label = finding.level.to_s.ljust(8)
        lines = wrap("#{finding.seen}.", WIDTH - 9)
        first, *rest = lines
        more = [*("mend: #{finding.mend}" if finding.mend), "more: #{finding.guide}"]
        ["#{label} #{first}", *rest.map { |line| "#{" " * 9}#{line}" }, *more.flat_map { |line| wrapped_more(line) }].join("\n") << "\n"
      end

      def wrapped_more(line)
        first, *rest = wrap(line, WIDTH - 15)
        ["#{" " * 9}#{first}", *rest.map { |part| "#{" " * 15}#{part}" }]
      end

      def foot
        numbers = counts
        worst = numbers[:serious].zero? ? "nothing serious" : "#{numbers[:serious]} serious"
        "#{worst}, #{plural(numbers[:warning], "warning")}, #{plural(numbers[:note], "note")}#{"; guides are in #{ROOT}" if @findings.any?}"
      end

      def plural(count, word)
        "#{count} #{word}#{"s" unless count == 1}"
      end

      def wrap(text, width)
        text.scan(/\S.{0,#{width - 1}}(?=\s|\z)|\S+/)
      end
    end
  end
end
