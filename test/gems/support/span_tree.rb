# frozen_string_literal: true

module SpanTree
  # The spans that a server has exported, as text that is the same for each request of an action.
  class Forest
    # What a pool of connections asks is not the same in each request.
    OF_POOL = lambda do |span|
      span["scope"].end_with?("::PG") && !span["statement"].to_s.include?("items") &&
        !span["statement"].to_s.include?("pg_sleep") && span["name"] != "connect"
    end
    ROOT = "0" * 16

    # @param spans [Array<Hash>] of AppTraces.spans
    def initialize(spans)
      @all = spans
      @spans = spans.reject(&OF_POOL)
      @traces = @spans.group_by { |span| span["trace"] }
    end

    # @param question [#id, #trace, #parent]
    # @return [String] its trace, and those that its threads and fibers have begun
    def of(question)
      own = tree(@traces.fetch(question.trace, []), question)
      (own + strays(question)).join("\n")
    end

    # @param carried [Array] paths that a service was asked, and their traceparent
    # @return [Array<String>] what each that is wrong has carried
    def wrong(carried)
      makers = @all.select { |span| span["kind"] == "client" && span["path"] }
                   .group_by { |span| span["path"][%r{/q\h+/.*}] }
      carried.reject do |path, traceparent|
        makers.fetch(path, []).any? do |span|
          traceparent == "00-#{span["trace"]}-#{span["id"]}-01"
        end
      end
    end

    private

    def strays(question)
      strays_by_id.fetch(question.id, []).flat_map do |trace|
        trace == question.trace ? [] : tree(@traces.fetch(trace), question)
      end.sort
    end

    def strays_by_id
      @strays_by_id ||= @traces.each_with_object({}) do |(trace, spans), found|
        ids = spans.filter_map { |span| span["path"].to_s[/q\h{12}/] }.uniq
        ids.each { |id| (found[id] ||= []) << trace }
      end
    end

    # One line a span, indented; those of one parent in the order of their text.
    def tree(spans, question)
      ids = spans.to_h { |span| [span["id"], true] }
      children = spans.group_by { |span| span["parent"] }
      tops = spans.reject { |span| ids[span["parent"]] }
      tops.map { |span| lines(span, children, question, origin(span, question)).join("\n") }.sort
    end

    def origin(span, question)
      case span["parent"]
      when question.parent then "of the client: "
      when ROOT then "of nobody: "
      else "LOST: "
      end
    end

    def lines(span, children, question, before = "")
      below = children.fetch(span["id"], []).map { |child| lines(child, children, question) }
      [before + label(span, question), *below.sort.flatten.map { |line| "  #{line}" }]
    end

    def label(span, question)
      [span["name"], span["path"], span["kind"]].compact.join(" ").gsub(question.id, "ID")
                                                             .sub(/hunt_\d+/, "hunt")
    end
  end
end
