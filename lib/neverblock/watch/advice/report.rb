# frozen_string_literal: true

# All advice about a running server, for people and for programs.

require "neverblock/watch/advice"
require "neverblock/watch/advice/pools"
require "neverblock/watch/columns"
require "neverblock/watch/document"
require "neverblock/watch/units"

module NeverBlock
  module Watch
    module Advice
      class Report
        OBSERVED = "/observed.json?limit=128"

        # @param client [Client]
        # @param least_s [Float] advice that saves less is left out
        # @return [Report]
        # @raise [Unreachable]
        def self.ask(client, least_s: LEAST_S)
          observed = Document.parse(client.fetch(OBSERVED)).to_h
          new(observed, Document.parse(client.fetch).to_h, least_s: least_s)
        end

        # @param observed [Hash] /observed.json
        # @param status [Hash] /status.json
        # @param least_s [Float]
        def initialize(observed, status = {}, least_s: LEAST_S)
          requests = Advice.requests(observed)
          @requests = requests.size
          @unread = Advice.unread(requests)
          @advice = Pools.of(status) + Advice.of(requests, least_s: least_s)
        end

        # Drops the advice for which the block is false.
        # @yieldparam advice [Hash]
        # @return [void]
        def keep(&block)
          @advice.select!(&block)
        end

        # @return [Hash]
        def to_h
          { "advice" => @advice, "observed" => @requests, "unread" => @unread,
            "made_at" => Time.now.to_f.round(3) }
        end

        # @return [String]
        def to_s
          parts = @advice.empty? ? [nothing] : @advice.map { |advice| text(shown(advice)) }
          parts << unread_note unless @unread.empty?
          "#{parts.join("\n\n")}\n"
        end

        private

        def nothing
          return "no request that waits for a millisecond was observed yet" if @requests.zero?

          "no advice after #{@requests} observed request#{"s" unless @requests == 1}"
        end

        # What was waited for, as a name that was looked up, may be a user's.
        def shown(value)
          case value
          when Hash
            value.to_h { |name, one| [name, name == "code" ? code_of(one) : shown(one)] }
          when Array then value.map { |one| shown(one) }
          when String then Document.clean(value)
          else value
          end
        end

        def code_of(text)
          text.to_s.lines(chomp: true).map { |line| Document.clean(line) }.join("\n")
        end

        def text(advice)
          [advice["title"], *lines(advice), *code(advice), "  #{advice["mend"]}", seen(advice)]
            .compact.join("\n")
        end

        def lines(advice)
          rows = Array(advice["lines"]).map do |line|
            seconds = line["for_s"] ? Units.duration(line["for_s"]) : ""
            ["  #{place(line)}", line["code"].to_s, seconds, line["waits_for"].to_s]
          end
          Columns.align(rows, least: 0, left: [0, 1, 3])
        end

        def code(advice)
          advice["code"].to_s.lines(chomp: true).map { |line| "  > #{line}" }
        end

        def seen(advice)
          return if advice["requests"].nil?

          names = advice["requests"]
          more = names.size > 3 ? " and #{names.size - 3} more" : ""
          "  seen in #{advice["seen"]} of #{advice["observed"]} observed requests: " \
            "#{names.first(3).join(", ")}#{more}"
        end

        def place(line)
          path = line["path"].to_s.delete_prefix("#{Dir.pwd}/")
          "#{path}:#{line["line"]}"
        end

        def unread_note
          "#{@unread.size} file#{"s" unless @unread.size == 1} of the application cannot be read " \
            "here, as #{shown(@unread.first)}: run this where the application's code is"
        end
      end
    end
  end
end
