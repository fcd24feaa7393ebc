# frozen_string_literal: true

# Pools that made requests wait in the last minute, and the size that would have done. Made of
# /status.json alone: neither the application's code nor the native part is needed.

require "neverblock/watch/units"

module NeverBlock
  module Watch
    module Advice
      module Pools
        # Shorter waits, on average, are a trifle, in seconds.
        LEAST_S = 0.001
        # A smaller share of those that wanted a place is one too, unless they waited for long.
        LEAST_SHARE = 0.01
        LONG_S = 0.1
        # How the size of each kind is written.
        MENDS = {
          "active_record" => "`pool: %<size>d` in config/database.yml " \
                             "(`max_connections:` from Rails 8.1 on)",
          "sequel" => "`Sequel.connect(url, max_connections: %<size>d)`",
          "connection_pool" => "`ConnectionPool.new(size: %<size>d)`",
          "neverblock" => "`NB::Pool::FiberedConnectionPool.new(size: %<size>d)`",
          "fibers" => "`NB::FiberPool.new(%<size>d)`"
        }.freeze
        # Kinds whose places are connections to a database.
        DATABASE = %w[active_record sequel].freeze
        private_constant :MENDS, :DATABASE

        # A pool of this kind and name in each process.
        class Pool
          attr_reader :kind, :name

          def initialize(kind, name, parts)
            @kind = kind
            @name = name
            @parts = parts
          end

          # @return [Integer] places in each process
          def size
            most("size")
          end

          # @return [Integer] places that would have done, in each process
          def would_do
            most("would_do")
          end

          # @return [Boolean] whether more may have been wanted than the pool has seen
          def least?
            @parts.any? { |part| part.dig("last_minute", "held_back") == true }
          end

          # @return [Float] of those that wanted a place, how many had to wait, from 0 to 1
          def share
            wanted = [minute("acquired"), waits].max
            wanted.zero? ? 0.0 : waits.fdiv(wanted)
          end

          # @return [Float] mean wait of those that had to wait, in seconds
          def mean_s
            waits.zero? ? 0.0 : minute("waited_s").fdiv(waits)
          end

          # @return [Float] how long all have waited, in seconds
          def waited_s
            minute("waited_s").to_f
          end

          # @return [Integer] worker processes that have the pool; 0: there is one process
          def workers
            @parts.count { |part| part["pid"] }
          end

          # @return [Boolean]
          def worth_a_word?
            would_do > size && size.positive? && mean_s >= LEAST_S &&
              (share >= LEAST_SHARE || mean_s >= LONG_S)
          end

          private

          # Who waits since before the last minute has not begun to wait in it.
          def waits
            @parts.sum do |part|
              [number(part.dig("last_minute", "waited")), number(part["waiting"])].max
            end
          end

          def minute(field)
            @parts.sum { |part| number(part.dig("last_minute", field)) }
          end

          def most(field)
            @parts.map { |part| number(part[field]) }.max
          end

          def number(value)
            value.is_a?(Numeric) && value.positive? ? value : 0
          end
        end
        private_constant :Pool

        module_function

        # @param status [Hash] /status.json
        # @return [Array<Hash{String => Object}>] the longest waits first. Of each: "kind" ("pool"),
        #   "title", "pool", "pool_kind", "size", "would_do" (both in each process), "waited_share"
        #   (0 to 1), "waited_s" (mean wait), "mend" (how to write it)
        def of(status)
          found = pools(status).select(&:worth_a_word?)
          found.sort_by { |pool| -pool.waited_s }.map { |pool| entry(pool) }
        end

        def pools(status)
          parts = status["pools"].is_a?(Array) ? status["pools"].grep(Hash) : []
          parts.select! { |part| part["last_minute"].is_a?(Hash) && part["name"].is_a?(String) }
          parts.group_by { |part| part.values_at("kind", "name") }
               .map { |(kind, name), same| Pool.new(kind, name, same) }
        end

        def entry(pool)
          { "kind" => "pool", "title" => title(pool), "pool" => pool.name,
            "pool_kind" => pool.kind, "size" => pool.size, "would_do" => pool.would_do,
            "waited_share" => pool.share.round(4), "waited_s" => pool.mean_s,
            "mend" => mend(pool) }
        end

        def title(pool)
          what = pool.kind == "fibers" ? "blocks" : "requests"
          "The pool #{pool.name} (#{places(pool)}) made #{percent(pool.share)} of #{what} wait, " \
            "#{Units.duration(pool.mean_s)} each; " \
            "#{"at least " if pool.least?}#{pool.would_do} would do"
        end

        def places(pool)
          one = pool.kind == "fibers" ? "fiber" : "connection"
          in_each = " in each of #{pool.workers} workers" if pool.workers > 1
          "#{pool.size} #{one}#{"s" unless pool.size == 1}#{in_each}"
        end

        def percent(share)
          share < 0.01 ? "less than 1 %" : "#{(share * 100).round} %"
        end

        def mend(pool)
          text = format(MENDS.fetch(pool.kind.to_s, "a size of %<size>d"), size: pool.would_do)
          text += ", which is for each process" if pool.workers > 1
          text += "; #{database(pool)}" if DATABASE.include?(pool.kind)
          text
        end

        def database(pool)
          all = pool.would_do * [pool.workers, 1].max
          product = " (#{pool.workers} × #{pool.would_do})" if pool.workers > 1
          "the database's own limit (max_connections) has to leave room for #{all}#{product}. " \
            "Where the database is busy itself, hold connections for less time instead"
        end

        private_class_method :pools, :entry, :title, :places, :percent, :mend, :database
      end
    end
  end
end
