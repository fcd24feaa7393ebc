# frozen_string_literal: true

# Waits of one request that came one after another, although none used another's result. They are
# looked for in each method and block in which the backtraces of waits part.

require "neverblock/watch/advice/order"
require "neverblock/watch/advice/place"
require "neverblock/watch/advice/step"

module NeverBlock
  module Watch
    module Advice
      class Sequence
        # Waits that another fiber could have had meanwhile.
        KINDS = %w[database http io dns file process sleep offload fibers other].freeze

        # steps: those that could have run together, in groups: one group after the other.
        Found = Struct.new(:place, :groups, :saved_s, :waited_s) do
          # @return [Array<Object>] the same for the same lines of code
          def key
            [place.code.path, steps.map { |step| step.node.location.start_offset }]
          end

          def steps
            groups.flatten.flat_map(&:parts)
          end

          # @return [String] of the method around them
          def method_name
            frame = steps.first.waits.first.own_frames[place.depth]
            frame.block? ? File.basename(frame.path) : frame.name
          end
        end

        # @param sources [Sources]
        def initialize(sources)
          @sources = sources
        end

        # @param request [Request]
        # @return [Array<Found>]
        def of(request)
          merge(look(request.waits_for(KINDS), 0))
        end

        private

        # The waits have the same frames outside of `depth`.
        def look(waits, depth, one_connection: false)
          waits = waits.select { |wait| wait.own_frames[depth] }
          of_methods(waits, depth).flat_map { |group| look_at(group, depth, one_connection) }
        end

        def of_methods(waits, depth)
          waits.chunk_while do |one, other|
            one.own_frames[depth].same_method?(other.own_frames[depth])
          end
        end

        def look_at(waits, depth, one_connection)
          return [] if waits.size < 2

          place = Place.find(waits, depth, @sources)
          return deeper_by_line(waits, depth, one_connection) if place.nil?

          one_connection ||= gems_one_connection?(waits, depth)
          calls = calls_of(waits, place)
          return deeper_by_line(waits, depth, one_connection) if calls.nil?

          runs(waits, calls).flat_map { |run| in_run(run, calls, place, one_connection) }
        end

        # Has a gem called this method while it held a connection, as for a callback?
        def gems_one_connection?(waits, depth)
          waits.any? do |wait|
            wait.gem_frames_outside(depth).any? { |frame| Words.one_connection?(frame.method_name) }
          end
        end

        def deeper_by_line(waits, depth, one_connection)
          groups = waits.chunk { |wait| wait.own_frames[depth] }.map(&:last)
          groups.flat_map { |group| look(group, depth + 1, one_connection: one_connection) }
        end

        # @return [Hash{Wait => Prism::Node}, nil] nil: they cannot be told apart
        def calls_of(waits, place)
          calls = {}.compare_by_identity
          frames = ->(wait) { wait.own_frames.drop(place.depth) + wait.gem_frames.first(1) }
          waits.group_by(&frames).each_value do |alike|
            found = place.calls_of(alike.first)
            return nil if found.empty?

            assign(alike, found, calls, place) or return nil
          end
          calls
        end

        # Several calls of one name on a line: each has waited as often.
        def assign(waits, found, calls, place)
          found = [place.whole(found)].compact unless (waits.size % found.size).zero?
          return false if found.empty?

          each = waits.size / found.size
          waits.each_with_index { |wait, at| calls[wait] = found[at / each] }
          true
        end

        # Where a call comes again after another, the method or block has run again.
        def runs(waits, calls)
          runs = [[]]
          seen = Set.new.compare_by_identity
          waits.each do |wait|
            call = calls[wait]
            unless runs.last.empty? || calls[runs.last.last].equal?(call)
              seen << calls[runs.last.last]
              if seen.include?(call)
                runs << []
                seen.clear
              end
            end
            runs.last << wait
          end
          runs
        end

        def in_run(waits, calls, place, one_connection)
          steps = steps_of(waits, calls, place)
          found = [arrange(steps, place, one_connection)].compact
          found + steps.flat_map do |step|
            inside = one_connection || place.one_connection?(step.node)
            look(step.waits, place.depth + 1, one_connection: inside)
          end
        end

        def steps_of(waits, calls, place)
          steps = []
          waits.each do |wait|
            node = calls[wait]
            steps << Step.new(node, place) unless steps.last && steps.last.node.equal?(node)
            steps.last.waits << wait
          end
          steps
        end

        # @return [Found, nil]
        def arrange(steps, place, one_connection)
          return if steps.size < 2

          after = order_of(steps, place, one_connection)
          choices = [[steps, after], chained(steps, after)].flat_map do |some, rest|
            [early(rest), late(rest)].map { |levels| [some, levels] }
          end
          found(*choices.min_by { |some, levels| least_s(some, levels) }, place)
        end

        # @return [Array<Array<Integer>>] for each step, those that it must wait for
        def order_of(steps, place, one_connection)
          order = Order.new(place)
          steps.each_index.map do |at|
            (0...at).select { |i| after?(order, steps[i], steps[at], place, one_connection) }
          end
        end

        # Steps of which each needs the one before it, and nobody else does, may be one task.
        def chained(steps, after)
          steps = steps.dup
          after = after.map(&:dup)
          while (pair = chain_in(after))
            first, second = pair
            steps[second] = steps[first].then(steps[second])
            after[second] = after[first]
            steps.delete_at(first)
            after.delete_at(first)
            after.each { |before| before.map! { |at| at > first ? at - 1 : at } }
          end
          [steps, after]
        end

        # What the second waits for may be what the first has waited for already.
        def chain_in(after)
          after.each_with_index do |before, second|
            first = before.max or next
            followers = after.count { |other| other.include?(first) }
            return [first, second] if followers == 1 && (before - after[first]) == [first]
          end
          nil
        end

        # @param after [Array<Array<Integer>>] for each step, those that it must wait for
        # @return [Array<Integer>] for each step, with which others it runs: as soon as it can
        def early(after)
          after.each_with_object([]) do |before, levels|
            levels << (before.map { |at| levels[at] }.max || -1) + 1
          end
        end

        # As late as it can.
        def late(after)
          last = early(after).max
          levels = Array.new(after.size, last)
          (after.size - 1).downto(0) do |at|
            after[at].each { |before| levels[before] = [levels[before], levels[at] - 1].min }
          end
          levels
        end

        # How long all take, when those of one level run together.
        def least_s(steps, levels)
          steps.each_index.group_by { |at| levels[at] }.sum do |_, places|
            places.map { |at| steps[at].waited_s }.max
          end
        end

        def after?(order, first, second, place, one_connection)
          stays?(first, place, one_connection) || stays?(second, place, one_connection) ||
            order.fixed?(first, second)
        end

        def stays?(step, place, one_connection)
          return true if step.fixed?

          step.kinds.include?("database") && (one_connection || place.one_connection?(step.node))
        end

        def found(steps, levels, place)
          groups = steps.each_index.group_by { |at| levels[at] }.sort.map(&:last)
                        .select { |places| places.size > 1 }
          return if groups.empty?

          waited_s = steps.sum(&:waited_s)
          Found.new(place, groups.map { |places| steps.values_at(*places) },
                    waited_s - least_s(steps, levels), waited_s)
        end

        # The same lines of a loop's turns count once.
        def merge(found)
          found.group_by(&:key).values.map do |same|
            first = same.first
            Found.new(first.place, first.groups, same.sum(&:saved_s), same.sum(&:waited_s))
          end
        end
      end
    end
  end
end
