# frozen_string_literal: true

# One fiber of /fibers.json as words for people. A field that is not there, or of an unexpected
# type, is left out.

require "neverblock/watch/units"

module NeverBlock
  module Watch
    class FiberRow
      # What a running fiber is stuck in (core/stall/stall.h).
      STALLS = {
        "ruby" => "Ruby code", "gc" => "garbage collection", "c_call" => "a C call",
        "blocking_call" => "a blocking call", "other_thread" => "another thread's Ruby code"
      }.freeze
      # Kinds that need no further word.
      PLAIN = {
        "condition" => "a condition variable", "queue" => "a queue", "thread" => "a thread",
        "fibers" => "fibers it has started",
        "client_body" => "the client: its request's body",
        "client" => "the client, which reads slowly",
        "connection" => "its connection, to take it over",
        "offload" => "a thread (NB.offload)", "other" => "something else"
      }.freeze

      # Its columns, and which of them are text; the others are numbers.
      HEADER = ["request", "age", "ran", "for", "worker", "does", "line"].freeze
      LEFT = [0, 5, 6].freeze

      # @return [Document]
      attr_reader :document

      # @param document [Document]
      def initialize(document)
        @document = document
      end

      # @param request [String] what the first column shows
      # @return [Array<String>] the columns
      def cells(request)
        [request, Units.duration(age_s), Units.duration(ran_s), Units.duration(waits_s), place,
         doing, line]
      end

      # @return [Numeric, nil] seconds that its code has run
      def ran_s
        document.number("ran_s")
      end

      # @return [Numeric, nil] seconds since the request's first byte
      def age_s
        document.number("age_s")
      end

      # @return [String] "running", "ready", "waiting" or "?"
      def state
        document.text("state") || "?"
      end

      # @return [String, nil] what it waits for, as in /fibers.json
      def kind
        document.text("waits_for", "kind") if state == "waiting"
      end

      # @return [String] "GET /orders/1"
      def request
        words = [document.text("method"), target].compact.join(" ")
        case document.text("fiber")
        when "helper" then "#{words} (a fiber of it)"
        when "background" then "(no request)"
        else words
        end
      end

      # @return [String] what it does now
      def doing
        case state
        when "waiting" then "waits for #{subject}"
        when "running" then stalled
        when "ready" then "ready to run"
        else state
        end
      end

      # @return [Numeric, nil] seconds of the wait
      def waits_s
        document.number("waits_for", "for_s")
      end

      # @return [String] "0", "0 lane 1": where it runs
      def place
        [document.number("worker") || "?", lane, spare].compact.join(" ")
      end

      # @return [String] the application's line, or a dash
      def line
        document.text("line") || Units::UNKNOWN
      end

      # @return [Array<String>] the innermost first
      def backtrace
        document.texts("backtrace")
      end

      # @return [Numeric, nil] seconds since the backtrace was taken
      def backtrace_age_s
        document.number("backtrace_age_s")
      end

      private

      def target
        query = document.text("query")
        path = document.text("path")
        query ? "#{path}?#{query}" : path
      end

      def lane
        number = document.number("lane")
        "lane #{number}" if number
      end

      def spare
        "spare" if document.true?("spare")
      end

      def stalled
        stall = document.text("stalls_in") or return "runs"

        "stalls in #{STALLS.fetch(stall, "a call that nobody can name")}"
      end

      def subject
        PLAIN[kind] || public_subject
      end

      def public_subject
        case kind
        when "sleep" then timed
        when "lock" then held
        when "database" then database
        when "http" then "HTTP #{address || "(it connects)"}"
        when "io" then address || "descriptor #{number("descriptor")}"
        when "file" then "a file (descriptor #{number("descriptor")})"
        when "dns" then "the address of #{word("name") || "a host"}"
        when "process" then "process #{number("process")}"
        when "pool" then pool
        else kind || "something else"
        end
      end

      def timed
        left = document.number("waits_for", "left_s")
        left ? "the end of its sleep, in #{Units.duration(left)}" : "a wake (sleep without end)"
      end

      def held
        method, path = %w[method path].map { |name| document.text("waits_for", "holder", name) }
        path ? "a lock, which #{method} #{path} holds" : "a lock"
      end

      def database
        [word("driver") || "a database", address].compact.join(" ")
      end

      def pool
        name = word("name")
        name ? "a place in the pool #{name}" : "its turn at a pool"
      end

      def address
        word("address")
      end

      def word(name)
        document.text("waits_for", name)
      end

      def number(name)
        document.number("waits_for", name) || "?"
      end
    end
  end
end
