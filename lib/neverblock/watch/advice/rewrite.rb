# frozen_string_literal: true

# Advice in words: what was seen, at which lines, and how to write it.

require "neverblock/watch/units"

module NeverBlock
  module Watch
    module Advice
      class Rewrite
        # Longer code is cut off, in characters.
        CODE_MAX = 72
        WAITS = {
          "database" => "database", "http" => "HTTP", "io" => "socket", "dns" => "DNS",
          "file" => "file", "process" => "process", "sleep" => "sleep", "offload" => "offload",
          "fibers" => "NB.all"
        }.freeze

        # @param found [Sequence::Found, Repeats::Found, Limits::Found]
        # @param sources [Sources]
        # @return [Hash{String => Object}]
        def self.of(found, sources)
          new(sources).of(found)
        end

        # @param sources [Sources]
        def initialize(sources)
          @sources = sources
        end

        # @return [Hash{String => Object}]
        def of(found)
          case found
          when Sequence::Found then sequential(found)
          when Repeats::Found then repeated(found)
          else unlimited(found)
          end
        end

        private

        # --- one after another ---

        def sequential(found)
          steps = found.steps.sort_by(&:line)
          waited_s = steps.sum(&:waited_s)
          {
            "kind" => "sequential",
            "title" => "#{steps.size} waits in #{found.method_name} came one after another, and " \
                       "#{independence(found)}",
            "saves_s" => found.saved_s.round(6), "of_s" => waited_s.round(6),
            "mend" => "NB.all would save about #{Units.duration(found.saved_s)} of " \
                      "#{Units.duration(waited_s)}#{tasks(found)}#{own_connections(steps)}",
            "code" => found.groups.map { |group|
              together(found.place, group)
            }.reject(&:empty?).join("\n"),
            "lines" => steps.map { |step| step_line(found.place, step) }
          }
        end

        def independence(found)
          chains = found.groups.flatten.any? { |step| step.parts.size > 1 }
          chains ? "not each needs all before it" : "none used another's result"
        end

        # Waits of which one needs the other are one task.
        def tasks(found)
          chains = found.groups.flatten.map(&:parts).select { |parts| parts.size > 1 }
          chains.map { |parts| "; lines #{parts.map(&:line).join(" and ")} are one task" }.join
        end

        def step_line(place, step)
          { "path" => place.code.path, "line" => step.line, "code" => place.code.line(step.line),
            "waits_for" => step.waits.map { |wait| words(wait.kind, wait.what) }.uniq.join(", "),
            "for_s" => step.waited_s.round(6) }
        end

        def own_connections(steps)
          names = steps.select(&:single_connection?).filter_map(&:connection).tally
                       .select { |_, count| count > 1 }.keys
          return "" if names.empty?

          "; #{names.join(", ")} is one connection, so each needs its own"
        end

        # Code of several lines is left out, and that of tasks of several statements.
        def together(place, steps)
          return "" unless steps.all? { |step| one_expression?(place, step) }

          writes = steps.filter_map { |step| whole_assignment(place, step) }
          whole = writes.uniq.size == steps.size &&
                  writes.map { |node| place.code.parent(node) }.uniq.one?
          values = whole ? writes.map(&:value) : steps.map(&:node)
          return "" if values.any? { |value| value.slice.match?(/\n|<</) }

          call = "NB.all(#{values.map { |value| "-> { #{short(value)} }" }.join(", ")})"
          whole ? "#{writes.map(&:name).join(", ")} = #{call}" : call
        end

        def one_expression?(place, step)
          step.parts.all? { |part| place.code.holds?(step.node, part.node) }
        end

        # `name = value`, as a statement.
        def whole_assignment(place, step)
          around = place.code.ancestors(step.node).take(3)
          node = around.find { |parent| Place::SETS.include?(parent.class) }
          node if node && place.code.parent(node).is_a?(Prism::StatementsNode)
        end

        def short(node)
          text = node.slice.gsub(/\s*\n\s*/, " ")
          text.length > CODE_MAX ? "#{text[0, CODE_MAX - 3]}..." : text
        end

        # --- again and again ---

        def repeated(found)
          what = words(found.kind, found.what)
          {
            "kind" => "repeated",
            "title" => "#{found.count} waits for #{what} at one line, one after another",
            "saves_s" => found.saved_s.round(6), "of_s" => found.waited_s.round(6),
            "mend" => repeated_mend(found),
            "lines" => repeated_lines(found, what)
          }
        end

        def repeated_mend(found)
          time = "up to #{Units.duration(found.saved_s)} of #{Units.duration(found.waited_s)}"
          if found.kind == "database" && found.writes
            "write the rows in one statement (insert_all, multi_insert): saves #{time}"
          elsif found.kind == "database"
            "ask once for all (ActiveRecord: includes or preload; Sequel: eager; SQL: IN or a " \
              "join): saves #{time}"
          else
            "NB.all(*list, limit: 10) { |one| ... } asks for ten at a time; with enough at a " \
              "time it saves #{time}"
          end
        end

        def repeated_lines(found, what)
          lines = [frame_line(found.frame).merge("waits_for" => what,
                                                 "for_s" => found.waited_s.round(6))]
          outer = found.loop_frame
          return lines if outer.nil? || [outer.path,
                                         outer.line] == [found.frame.path, found.frame.line]

          [frame_line(outer)] + lines
        end

        # --- without a limit ---

        def unlimited(found)
          what = words(found.kind, found.what)
          {
            "kind" => "no_limit",
            "title" => "the wait for #{what} has no limit; the longest took " \
                       "#{Units.duration(found.waited_s)}",
            "mend" => "set the client's timeout, or put NB.deadline(seconds) { } around it: a " \
                      "server that hangs keeps the request for ever",
            "lines" => [frame_line(found.frame).merge("waits_for" => what,
                                                      "for_s" => found.waited_s.round(6))]
          }
        end

        def frame_line(frame)
          { "path" => frame.path, "line" => frame.line, "code" => line_of(frame) }
        end

        def line_of(frame)
          code = @sources.code(frame.path)
          return code.line(frame.line) if code

          File.foreach(frame.path).with_index(1) { |text, at|
            return text.strip if at == frame.line
          }
          ""
        rescue SystemCallError
          ""
        end

        def words(kind, what)
          [WAITS.fetch(kind, kind), what].compact.reject(&:empty?).join(" ")
        end
      end
    end
  end
end
