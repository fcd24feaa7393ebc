# frozen_string_literal: true

# /fibers.json of a server: what each request does. Backtraces are made by the executors between two
# of their turns. So they are asked for, and shown when all have answered. One that is stuck does
# not answer; then the backtraces that were taken earlier are shown.

require "neverblock/verbs/deadline"
require "neverblock/watch/document"
require "neverblock/watch/fiber_row"

module NeverBlock
  module Watch
    class Fibers
      PATH = "/fibers.json"
      # The server's bound (core/admin/fiber_choice.h).
      LIMIT = (1..1000)
      # Longest wait for backtraces, in seconds, and between two looks.
      PATIENCE_S = 1.0
      LOOK_EVERY_S = 0.02

      # @return [Document]
      attr_reader :document

      # @param client [Client]
      # @param limit [Integer] most fibers
      # @param backtrace [Boolean]
      # @param query [Boolean] with the query strings of the requests
      # @return [Fibers]
      # @raise [Unreachable]
      def self.ask(client, limit: LIMIT.last, backtrace: false, query: false)
        shared = "#{PATH}?limit=#{limit}#{"&query=1" if query}"
        return new(client.fetch(shared)) unless backtrace

        fibers = new(client.fetch("#{shared}&backtrace=1"))
        until_s = Deadline.now + PATIENCE_S
        loop do
          fibers = new(client.fetch("#{shared}&backtrace=kept"))
          return fibers if fibers.unanswered.empty? || Deadline.now >= until_s

          sleep(LOOK_EVERY_S)
        end
      end

      # @param text [String] the document
      def initialize(text)
        @document = Document.parse(text)
      end

      # @return [Array<FiberRow>] the oldest first
      def rows
        @rows ||= document.parts("fibers").map { |part| FiberRow.new(part) }
      end

      # @return [Integer] fibers that the answer has no room for, or that have no record
      def left_out
        (document.number("left_out") || 0) + (document.number("unrecorded") || 0)
      end

      # @return [Array<Document>] executors that have not made the backtraces they were asked for
      def unanswered
        document.parts("executors").reject { |part| part.true?("backtraces_complete") }
      end

      # @param row [FiberRow]
      # @return [Boolean] whether its executor has made the backtraces that it was asked for
      def answered?(row)
        place = row.place
        places_of(document.parts("executors")).include?(place) &&
          !places_of(unanswered).include?(place)
      end

      private

      def places_of(executors)
        executors.map { |part| FiberRow.new(part).place }
      end
    end
  end
end
