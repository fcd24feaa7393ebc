# frozen_string_literal: true

# Prints findings as text or as JSON.

require "json"
require "neverblock/check/finding"
require "neverblock/log/characters"
require "neverblock/version"

module NeverBlock
  module Check
    class Report
      WIDTH = 100
      ROOT = File.expand_path("../../..", __dir__)

      # @param run [Run] that has ended
      # @param rackup [String] the rackup file as it was named
      # @param environment [String] the environment the application ran in
      def initialize(run, rackup:, environment:)
        @findings = run.findings
        @facts = run.facts
        @rackup = utf8(rackup)
        @environment = utf8(environment)
      end

      # @return [String]
      def text
        "#{head}\n\n#{@findings.map { |finding| entry(finding) }.join("\n")}\n#{foot}\n"
      end

      # @return [String] one object; its findings are sorted, the worst first
      def json
        document = { neverblock: VERSION, application: @rackup, environment: @environment, **@facts,
                     **counts, findings: @findings.map(&:to_h) }
        "#{JSON.pretty_generate(document)}\n"
      end

      private

      # Names from the command line have the locale's encoding.
      def utf8(text)
        Log::Characters.scrubbed(text)
      end

      def counts
        LEVELS.to_h { |level| [level, @findings.count { |finding| finding.level == level }] }
      end

      def head
        first = "NeverBlock #{VERSION} checked #{@rackup} (#{@environment})"
        [first, @facts[:ruby], processes, gems].compact.join(", ")
      end

      def processes
        count = @facts[:workers] or return

        "#{count} process#{"es" unless count == 1} with up to #{@facts[:fibers]} requests at once"
      end

      def gems
        count = @facts[:gems] or return

        "#{count} gems#{" (#{File.basename(@facts[:lock])})" if @facts[:lock]}"
      end

      def entry(finding)
        label = finding.level.to_s.ljust(8)
        first, *rest = wrap("#{finding.seen}.", WIDTH - 9)
        more = [*("fix:  #{finding.mend}" if finding.mend), "more: #{finding.guide}"]
        lines = ["#{label} #{first}", *rest.map { |line| "#{" " * 9}#{line}" },
                 *more.flat_map { |line| wrapped_more(line) }]
        "#{lines.join("\n")}\n"
      end

      def wrapped_more(line)
        first, *rest = wrap(line, WIDTH - 15)
        ["#{" " * 9}#{first}", *rest.map { |part| "#{" " * 15}#{part}" }]
      end

      def foot
        numbers = counts
        worst = numbers[:serious].zero? ? "nothing serious" : "#{numbers[:serious]} serious"
        guides = "; guides are in #{utf8(ROOT)}" if @findings.any?
        "#{worst}, #{plural(numbers[:warning], "warning")}, " \
          "#{plural(numbers[:note], "note")}#{guides}"
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
