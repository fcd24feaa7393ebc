# frozen_string_literal: true

# The application behind the conformance vectors. It keeps a record of each request it is shown and
# answers with that record as JSON, so that a test can say which bytes reached it. GET /-/seen
# answers with all records since the last time and forgets them. Paths under /bad/ misbehave on
# purpose, as an application might.

require "json"
require_relative "app_processes"

class RecorderApp
  MISBEHAVIOURS = {
    # RFC 9110 section 5.5: no CR, LF or NUL in a value. Vector 49.
    "value-crlf" => -> { [200, { "x-bad" => "a\r\nInjected: yes" }, ["body"]] },
    "value-lf" => -> { [200, { "x-bad" => "a\nInjected: yes\x01" }, ["body"]] },
    "value-cr" => -> { [200, { "x-bad" => "a\rInjected: yes" }, ["body"]] },
    "value-nul" => -> { [200, { "x-bad" => "a\0b" }, ["body"]] },
    "value-array-crlf" => -> {
      [200, { "set-cookie" => ["a=1", "b=2\r\nInjected: yes"] }, ["body"]]
    },
    "name-crlf" => -> { [200, { "x-bad\r\nInjected" => "yes" }, ["body"]] },
    "name-space" => -> { [200, { "x bad" => "yes" }, ["body"]] },
    "name-empty" => -> { [200, { "" => "yes" }, ["body"]] },
    "content-type-crlf" => -> {
      [200, { "content-type" => "text/plain\r\nInjected: yes" }, ["body"]]
    },
    "status-text" => -> { ["200 OK\r\nInjected: yes", {}, ["body"]] },
    "status-99" => -> { [99, {}, ["body"]] },
    "status-1000" => -> { [1000, {}, ["body"]] },
    # Vector 50.
    "status-100" => -> { [100, {}, []] },
    "status-103" => -> { [103, { "link" => "</a>" }, []] },
    "length-beyond-array" => -> { [200, { "content-length" => "10" }, ["12345"]] },
    "length-below-array" => -> { [200, { "content-length" => "3" }, ["1234567890"]] },
    "length-beyond-each" => -> { [200, { "content-length" => "10" }, Each.new(["12345"])] },
    "length-below-each" => -> { [200, { "content-length" => "3" }, Each.new(%w[12 34567890])] },
    "length-and-coding" => -> {
      [200, { "content-length" => "5", "transfer-encoding" => "chunked" }, ["12345"]]
    },
    "coding-alone" => -> {
      [200, { "transfer-encoding" => "chunked" }, Each.new(["5\r\n12345\r\n0\r\n\r\n"])]
    },
    "length-text" => -> { [200, { "content-length" => "5x" }, ["12345"]] },
    "body-on-204" => -> { [204, {}, ["body"]] },
    "length-on-204" => -> { [204, { "content-length" => "4" }, ["body"]] },
    "body-on-304" => -> { [304, { "content-length" => "4" }, ["body"]] },
    "body-on-head" => -> { [200, { "content-length" => "4" }, ["body"]] },
    "each-on-head" => -> { [200, {}, Each.new(%w[bo dy])] }
  }.freeze

  # A body that is no array.
  Each = Struct.new(:parts) do
    def each(&block)
      parts.each(&block)
    end
  end

  def call(env)
    return answer(AppProcesses.take_kept) if env["PATH_INFO"] == "/-/seen"

    record = record_of(env)
    AppProcesses.keep(record)
    bad = env["PATH_INFO"].delete_prefix("/bad/")
    return MISBEHAVIOURS.fetch(bad).call if MISBEHAVIOURS.key?(bad)

    answer(record)
  end

  private

  def record_of(env)
    body = env["rack.input"] ? env["rack.input"].read.to_s : ""
    strings = env.select { |key, value| key.match?(/\A[A-Z_]/) && value.is_a?(String) }
    {
      "method" => env["REQUEST_METHOD"],
      "path" => text(env["PATH_INFO"]),
      "query" => text(env["QUERY_STRING"]),
      "body" => text(body),
      "env" => strings.to_h { |key, value| [text(key), text(value)] }
    }
  end

  # JSON holds no arbitrary bytes: one character for each.
  def text(bytes)
    bytes.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
  end

  def answer(value)
    body = JSON.generate(value)
    [200, { "content-type" => "application/json", "content-length" => body.bytesize.to_s }, [body]]
  end
end
