# frozen_string_literal: true

# The table of the conformance vectors: what is sent, what must come back, what becomes of the
# connection, and what the application may see.
# The rows are in vectors/*.rb, numbered as in the research notes. README.md says how they are
# delivered and judged.

require_relative "../support/over"

module Conformance
  # What no port in Host means (RFC 9110 section 4.2).
  DEFAULT_PORT = Over.scheme == "https" ? "443" : "80"

  # One response that must come, in order. statuses: any of these. method, version: those of the
  # request that it answers. check: called with the Wire::Response, returns a complaint or nil.
  # may_be_cut: the connection may end inside it.
  Answer = Struct.new(:statuses, :method, :version, :check, :may_be_cut, keyword_init: true)

  # A request that the application must have received. env: keys with their value, or with an array
  # of allowed values. absent: keys that must be missing.
  Seen = Struct.new(:method, :path, :query, :body, :env, :absent, keyword_init: true)

  # The bytes of one delivery. stages: strings, and :await_continue where a client waits for 100
  # (Continue). fate: :open, :closed, or :as_announced (as the last response says). silent: no
  # response may come.
  Input = Struct.new(:row, :name, :stages, :answers, :fate, :seen, keyword_init: true) do
    def label
      format("vector %02d %s", row.number, name)
    end
  end

  # A row of the table. why_not: the reason a row does not apply, nil when it does.
  Row = Struct.new(:number, :title, :rfc, :inputs, :why_not, keyword_init: true)

  # Builds rows. The methods here are the words the files in vectors/ are written in.
  class Table
    attr_reader :rows

    def initialize
      @rows = []
    end

    def row(number, title, rfc, &block)
      @row = Row.new(number: number, title: title, rfc: rfc, inputs: [])
      @rows << @row
      instance_eval(&block)
    end

    def not_applicable(number, title, rfc, why)
      @rows << Row.new(number: number, title: title, rfc: rfc, inputs: [], why_not: why)
    end

    # Answered with one of the statuses, connection closed, nothing shown to the application.
    def refuse(name, bytes, *statuses, method: "GET", version: "1.1")
      statuses = [400] if statuses.empty?
      expect(name, [bytes],
             answers: [answer(*statuses, method: method, version: version)], fate: :closed)
    end

    # A valid request comes first and is answered, then the rest is refused.
    def refuse_after(name, first, bytes, *statuses, seen:)
      statuses = [400] if statuses.empty?
      expect(name, [first + bytes],
             answers: [answer(200), answer(*statuses)], fate: :closed, seen: [seen])
    end

    # Answered with 200 and shown to the application once.
    def accept(name, bytes, fate: :open, version: "1.1", **seen)
      stages = bytes.is_a?(Array) ? bytes : [bytes]
      expect(name, stages, answers: [answer(200, version: version, method: seen[:method] || "GET")],
             fate: fate, seen: [seen(**seen)])
    end

    def expect(name, stages, answers:, fate:, seen: [])
      if @row.inputs.any? { |input| input.name == name }
        raise ArgumentError, "row #{@row.number} has two inputs named #{name}"
      end

      @row.inputs << Input.new(row: @row, name: name,
                               stages: stages.map { |stage| stage.is_a?(String) ? stage.b : stage },
                               answers: answers, fate: fate, seen: seen)
    end

    def answer(*statuses, method: "GET", version: "1.1", may_be_cut: false, &check)
      Answer.new(statuses: statuses, method: method, version: version, check: check,
                 may_be_cut: may_be_cut)
    end

    def seen(method: "GET", path: "/", query: "", body: "", env: {}, absent: [])
      Seen.new(method: method, path: path, query: query, body: body.b, env: env, absent: absent)
    end

    # A request from its request line and fields; Host is added unless host is nil.
    def request(line, *fields, body: "", host: "test")
      fields = ["Host: #{host}", *fields] if host
      "#{line}\r\n#{fields.map { |field| "#{field}\r\n" }.join}\r\n".b + body.b
    end

    def get(*fields, path: "/", **rest)
      request("GET #{path} HTTP/1.1", *fields, **rest)
    end

    def post(*fields, body: "", **rest)
      request("POST / HTTP/1.1", *fields, body: body, **rest)
    end

    def chunked(body, *fields)
      post(*fields, "Transfer-Encoding: chunked", body: body)
    end
  end

  def self.table
    @table ||= Table.new.tap do |table|
      Dir[File.join(__dir__, "vectors/*.rb")].sort.each do |path|
        table.instance_eval(File.read(path), path)
      end
    end
  end
end
