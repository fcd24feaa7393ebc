# frozen_string_literal: true

require "json"

# What agents have sent, as text that is the same for each request of a kind.
module AgentMessages
  # One thing that an agent has told: a span, an error, a line of a log. Its text names its request.
  Told = Struct.new(:trace, :id, :parent, :label, :text, keyword_init: true) do
    # @return [Array<String>] the requests that are named in it
    def requests = @requests ||= text.scan(/q\h{12}/).uniq
  end

  # @!attribute trees [Hash{String => Array<String>}] by the kind of request
  # @!attribute mixed [Array<String>] what belongs to two requests
  # @!attribute alone [Array<String>] what belongs to no request
  # @!attribute calls [Integer] of the service
  # @!attribute astray [Array<String>] calls that have not carried the span that made them
  Found = Struct.new(:trees, :mixed, :alone, :calls, :astray, keyword_init: true)

  class << self
    # @param agent [String] the name of a file of agents/
    # @param messages [Array<AgentSink::Message>]
    # @param questions [Array<AgentsTest::Question>]
    # @param carried [Array<Array(String, Hash)>] paths and headers of the calls
    # @return [Found]
    def read(agent, messages, questions, carried, env)
      told = Readers.public_send(agent, messages, env)
      forest = Forest.new(told, questions)
      trees = questions.group_by(&:word).transform_values { |asked| asked.map { |q| forest.of(q) } }
      Found.new(trees: trees, mixed: forest.mixed, alone: forest.alone, calls: carried.size,
                astray: astray(carried, told))
    end

    private

    def astray(carried, told)
      spans = told.group_by(&:id)
      return [] if spans.keys == [nil] # the agent makes none

      carried.reject { |path, headers|
        spans.fetch(span(headers), []).any? { |one| one.id && one.text.include?(path) }
      }.map { |path, headers| "#{path} #{headers}" }
    end

    # @return [String, nil] the id of the span that a call was made in
    def span(headers)
      parent = headers["x-datadog-parent-id"]
      return format("%016x", Integer(parent, 10)) if parent

      headers["sentry-trace"]&.split("-")&.at(1) || headers["traceparent"]&.split("-")&.at(2)
    end
  end

  # Sorts what was told by request.
  class Forest
    BESIDE = %r{"[^"]*/(?:hog|warm)"|"(?:SET|SELECT|select 1)\b}
    private_constant :BESIDE

    def initialize(told, questions)
      @told = told
      told.each { |one| one.trace = one.trace[-16..] if one.trace }
      @by_trace = told.group_by(&:trace)
      @by_id = questions.to_h { |question| [question.id, question] }
      @by_name = told.group_by { |one| one.requests.first }
      @traces = questions.to_h { |question| [key(question), question] }
    end

    # @return [String] a line for each thing, indented below what it is a part of
    def of(question)
      own = @by_trace.fetch(key(question), []) | @by_name.fetch(question.id, [])
      children = own.group_by(&:parent)
      ids = own.to_h { |one| [one.id, true] }
      own.reject { |one| one.parent && ids[one.parent] }
         .map { |one| lines(one, children, question, origin(one, question)).join("\n") }
         .sort.join("\n")
    end

    # Some agents tell half of a trace's id.
    def key(question) = question.trace[-16..]

    # @return [Array<String>]
    def mixed
      @told.reject { |one| (one.requests + [@traces[one.trace]&.id]).compact.uniq.size < 2 }
           .map { |one| "#{one.trace} #{one.text}" }
    end

    # What the test asks of the server besides, and what the first use of a connection brings about,
    # is none of the requests'.
    # @return [Array<String>]
    def alone
      @told.select { |one| one.requests.empty? && !@traces[one.trace] && !beside?(one) }
           .map(&:label).sort
    end

    private

    def beside?(one)
      @beside ||= @told.select { |other| other.text.match?(BESIDE) }.to_h { |o| [o.trace, true] }
      @beside[one.trace]
    end

    def lines(one, children, question, before = "")
      below = one.id ? children.fetch(one.id, []) : []
      below = below.map { |child| lines(child, children, question) }
      [before + one.label.gsub(question.id, "ID"), *below.sort.flatten.map { |line| "  #{line}" }]
    end

    def origin(one, question)
      trace = one.trace == key(question) || one.trace.nil? ? "" : "of a trace of its own, "
      case one.parent
      when question.parent then "#{trace}of the client: "
      when nil then "#{trace}of nobody: "
      else "#{trace}LOST: "
      end
    end
  end

  # From what each service gets to what was told.
  module Readers
    module_function

    def sentry(messages, _env)
      messages.flat_map { |message| envelope(message.body) }
    end

    def envelope(body)
      lines = body.lines.drop(1)
      lines.each_slice(2).flat_map do |head, item|
        type = JSON.parse(head)["type"]
        item = JSON.parse(item)
        case type
        when "transaction" then [sentry_event(item), *item["spans"].map { |s| sentry_span(s) }]
        when "event" then [sentry_event(item)]
        when "log" then item["items"].map { |line| sentry_log(line) }
        else []
        end
      end
    end

    def sentry_event(item)
      trace = item.dig("contexts", "trace")
      crumbs = item.dig("breadcrumbs", "values").to_a.map do |crumb|
        crumb.values_at("category", "message") + [crumb.dig("data", "url")]
      end
      transaction = item["type"] == "transaction"
      said = [item["type"], item["transaction"], item["user"], item["tags"], trace["status"],
              item.dig("request", "url")&.delete_prefix("http://127.0.0.1")&.sub(/^:\d+/, ""),
              item.dig("exception", "values")&.map { |e| e["value"] }, crumbs]
      Told.new(trace: trace["trace_id"], id: (transaction ? trace["span_id"] : nil),
               parent: transaction ? trace["parent_span_id"] : trace["span_id"],
               label: text(said), text: JSON.generate(item))
    end

    def sentry_span(span)
      Told.new(trace: span["trace_id"], id: span["span_id"], parent: span["parent_span_id"],
               label: text(["span", span["op"], span["description"], span["status"]]),
               text: JSON.generate(span))
    end

    def sentry_log(line)
      Told.new(trace: line["trace_id"], id: nil,
               parent: line["span_id"],
               label: text(["log", line["body"], line.dig("attributes", "user.id", "value")]),
               text: JSON.generate(line))
    end

    def datadog(messages, env)
      messages.select { |m| m.path.end_with?("/traces") }.flat_map do |message|
        unpack(message.body, env).flat_map { |trace| trace.map { |span| datadog_span(span) } }
      end
    end

    def hex(number) = format("%016x", number)

    def unpack(body, env)
      program = "STDIN.binmode; print JSON.generate(MessagePack.unpack(STDIN.read))"
      command = [RbConfig.ruby, "-rbundler/setup", "-rjson", "-rmsgpack", "-e", program]
      IO.popen(env, command, "r+b") do |pipe|
        pipe.write(body)
        pipe.close_write
        JSON.parse(pipe.read)
      end
    end

    def datadog_span(span)
      meta = span["meta"].slice("user", "request", "note", "error.message", "http.url",
                                "http.status_code", "active_record.sql", "sql.query")
      meta["log"] = "is of its own span" if span["meta"]["log"] == span["span_id"].to_s
      Told.new(trace: hex(span["trace_id"]), id: hex(span["span_id"]),
               parent: (hex(span["parent_id"]) unless span["parent_id"].zero?),
               label: text([span["name"], span["resource"], span["error"], meta]),
               text: JSON.generate(span))
    end

    def new_relic(messages, _env)
      messages.flat_map do |message|
        data = JSON.parse(message.body) if message.path.include?("_data")
        case message.path[/method=(\w+)/, 1]
        when "span_event_data" then data[2].map { |event| new_relic_event(event, "guid") }
        when "error_event_data" then data[2].map { |event| new_relic_event(event, nil) }
        when "analytic_event_data" then data[2].map { |event| new_relic_event(event, nil) }
        when "log_event_data" then data.flat_map { |part| new_relic_logs(part["logs"]) }
        else []
        end
      end
    end

    def new_relic_event(event, id)
      told, users, agents = event
      agents = agents.slice("request.uri", "http.url", "enduser.id", "http.statusCode",
                            "error.message", "request.method")
      said = [told.values_at("type", "name", "transactionName", "error.message", "nr.entryPoint",
                             "error"), users, agents]
      Told.new(trace: told["traceId"], id: (told["guid"] if id),
               parent: id ? told["parentId"] : told["spanId"], label: text(said),
               text: JSON.generate(event))
    end

    def new_relic_logs(lines)
      lines.map do |line|
        trace, span = line.values_at("trace.id", "span.id")
        said = line["message"].sub(/\[\d.*?\]/, "") # the time and the process
        Told.new(trace: trace, id: nil, parent: span, label: text(["log", said]),
                 text: JSON.generate(line))
      end
    end

    def elastic(messages, _env)
      messages.select { |m| m.path.start_with?("/intake") }.flat_map do |message|
        message.body.lines.flat_map { |line| JSON.parse(line).map { |k, v| elastic_item(k, v) } }
      end.compact
    end

    def elastic_item(kind, item)
      return if kind == "metadata" || kind == "metricset"

      context = item["context"].to_h
      said = [kind, item["name"], item["result"], item["outcome"], context["user"],
              context["tags"], item.dig("exception", "message"), context.dig("db", "statement"),
              context.dig("request", "url", "pathname"), context.dig("http", "url")]
      Told.new(trace: item["trace_id"], id: (item["id"] unless kind == "error"),
               parent: item["parent_id"], label: text(said), text: JSON.generate(item))
    end

    def honeybadger(messages, _env)
      messages.select { |m| m.path == "/v1/notices" }.map do |message|
        item = JSON.parse(message.body)
        crumbs = item.dig("breadcrumbs", "trail").map { |c| c.values_at("category", "message") }
        error(item, [item.dig("error", "message"), item.dig("request", "context"),
                     item.dig("request", "url"), crumbs])
      end
    end

    def bugsnag(messages, _env)
      messages.select { |m| m.path == "/notify" }.flat_map do |message|
        JSON.parse(message.body)["events"].map do |item|
          crumbs = item["breadcrumbs"].map { |c| c["name"] }
          error(item, [item["exceptions"].map { |e| e["message"] }, item["user"],
                       item.dig("metaData", "request", "url"), crumbs])
        end
      end
    end

    def rollbar(messages, _env)
      messages.map do |message|
        item = JSON.parse(message.body)["data"]
        error(item, [item.dig("body", "trace", "exception", "message"), item["person"],
                     item["custom"], item.dig("request", "url")])
      end
    end

    def scout(messages, _env)
      messages.select { |m| m.path.start_with?("/apps/error") }.flat_map do |message|
        JSON.parse(message.body)["problems"].map do |item|
          error(item, [item["message"], item["request_uri"],
                       item["context"].slice("id", "request", "note")])
        end
      end
    end

    # The steps of a request are a tree already.
    def mini_profiler(messages, _env)
      messages.map do |message|
        page = JSON.parse(message.body)
        error(page, [page["user"], *steps(page["root"]).sort])
      end
    end

    def steps(step, above = "")
      path = "#{above}/#{step["name"]}"
      queries = step["sql_timings"].map { |query| "#{path}: #{query["formatted_command_string"]}" }
      [path, *queries, *step["children"].flat_map { |below| steps(below, path) }]
    end

    def error(item, said)
      Told.new(trace: nil, id: nil, parent: nil, label: text(said), text: JSON.generate(item))
    end

    def text(said) = said.flatten.compact.map(&:to_s).join(" ").gsub(/127\.0\.0\.1:\d+/, "HOST")
  end
end
