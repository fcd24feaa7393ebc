# frozen_string_literal: true

require "json"
require "open3"
require "fileutils"
require_relative "reading"

module Differential
  ROOT = File.expand_path("../../..", __dir__)

  # A parser that is not here, and why.
  class Missing < StandardError; end

  # Runs a program with a deadline, so that a bug fails instead of hanging.
  module Program
    SECONDS = "60"

    def self.run(*command, input: "")
      output, error, status = Open3.capture3("timeout", SECONDS, *command,
                                             stdin_data: input, binmode: true)
      raise "#{command.first}: #{status}: #{error}" unless status.success?

      output
    end

    def self.present?(name)
      ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).any? do |folder|
        File.executable?(File.join(folder, name))
      end
    end
  end

  # NeverBlock's parser, framing and chunk decoder, built from the core with the small program
  # test/c/http1/probe.c.
  class Ours
    SOURCES = %w[ext/neverblock/core/http/*.c ext/neverblock/core/http1/*.c
                 ext/neverblock/core/base/status.c ext/neverblock/core/base/assert.c
                 test/c/http1/probe.c].freeze

    def initialize
      compiler = %w[cc gcc clang].find { |name| Program.present?(name) } or
        raise Missing, "no C compiler"
      @program = File.join(ROOT, "build", "differential", "probe")
      FileUtils.mkdir_p(File.dirname(@program))
      fresh = "#{@program}.#{Process.pid}"
      sources = SOURCES.flat_map { |pattern| Dir.glob(pattern, base: ROOT).sort }.map do |path|
        File.join(ROOT, path)
      end
      Program.run(compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-I#{ROOT}/ext/neverblock/core",
                  "-I#{ROOT}/test/c", *sources, "-o", fresh)
      File.rename(fresh, @program)
    end

    # The vectors of test/c/http1/vectors.h: [name, bytes].
    def vectors
      JSON.parse(Program.run(@program, "--vectors")).map do |row|
        ["#{row["number"]} #{row["name"]}", [row["bytes"]].pack("H*")]
      end
    end

    # @param inputs [Array<String>]
    # @return [Array<Reading>]
    def read_all(inputs)
      lines = inputs.map { |input| "#{input.unpack1("H*")}\n" }.join
      Program.run(@program, input: lines).lines.map { |line| reading(JSON.parse(line)) }
    end

    private

    def reading(rows)
      messages = rows.select { |row| row["status"] == "NB_OK" }.map { |row| message(row) }
      last = rows.last
      case last["status"]
      when "NB_OK" then Reading.new(messages: messages, ending: :done)
      when "NB_INCOMPLETE" then Reading.new(messages: messages, ending: :incomplete)
      else
        Reading.new(messages: messages, ending: :refused,
                    detail: "#{last["refused"]}: #{last["reason"]}")
      end
    end

    def message(row)
      fields = row["fields"].map { |field| [hex(field["name"]).downcase, hex(field["value"])] }
      [hex(row["method"]), hex(row["target"]), fields, hex(row["body"])]
    end

    def hex(text)
      [text].pack("H*")
    end
  end

  # llhttp as the gem llhttp-ffi packs it, in its strict default. It is a parser alone: it leaves
  # Host, Expect and the target's forms to its callers.
  class LLHttpFFI
    def initialize
      require "llhttp"
    rescue LoadError => e
      raise Missing, "the gem llhttp-ffi is not installed (#{e.message.lines.first.strip})"
    end

    # @param inputs [Array<String>]
    # @return [Array<Reading>]
    def read_all(inputs)
      inputs.map { |input| read(input) }
    end

    private

    def read(input)
      collector = Collector.new
      parser = collector.parser = ::LLHttp::Parser.new(collector, type: :request)
      parser << input.b
      ending = parser.finish.zero? && !collector.pending? ? :done : :incomplete
      Reading.new(messages: collector.messages, ending: ending)
    rescue ::LLHttp::Error => e
      # On an upgrade it stops and hands the rest of the connection to its user: no refusal.
      switched = e.message.include?("PAUSED_UPGRADE")
      Reading.new(messages: collector.messages, ending: switched ? :done : :refused,
                  detail: e.message)
    end

    # Gathers what the callbacks tell.
    class Collector
      attr_reader :messages
      attr_writer :parser

      def initialize
        @messages = []
        @target = nil
      end

      def pending?
        !@target.nil?
      end

      def on_message_begin
        @target = +""
        @fields = []
        @in_value = true
        @body = +""
        @in_trailers = false
      end

      def on_url(bytes) = @target << bytes

      def on_header_field(bytes)
        return if @in_trailers

        @fields << [+"", +""] if @in_value
        @in_value = false
        @fields.last[0] << bytes
      end

      def on_header_value(bytes)
        @in_value = true
        @fields.last[1] << bytes unless @in_trailers
      end

      def on_headers_complete
        @in_trailers = true
      end

      def on_body(bytes) = @body << bytes

      def on_message_complete
        fields = @fields.map do |name, value|
          [name.b.downcase, value.b.gsub(/\A[ \t]+|[ \t]+\z/n, "")]
        end
        @messages << [@parser.method_name.b, @target.b, fields, @body.b[0, 64]]
        @target = nil
      end
    end
  end

  # node's http.createServer on a port of its own, over real sockets: llhttp and what node adds
  # (Host, Expect, limits).
  class Node
    MAJOR = "v20" # the table holds what this one does

    def initialize
      raise Missing, "node is not installed" unless Program.present?("node")

      version = Program.run("node", "--version").strip
      unless version.start_with?("#{MAJOR}.")
        raise Missing, "the table is for node #{MAJOR}, here is #{version}"
      end
    end

    # All inputs in one run of node.
    # @param inputs [Array<String>]
    # @return [Array<Reading>]
    def read_all(inputs)
      script = File.join(__dir__, "node_reader.js")
      hex = JSON.generate(inputs.map { |input| input.unpack1("H*") })
      JSON.parse(Program.run("node", script, input: hex)).map do |row|
        messages = row["messages"].map do |message|
          binary(*message.values_at("method", "target", "fields", "body"))
        end
        Reading.new(messages: messages, ending: row["ending"].to_sym, detail: row["detail"])
      end
    end

    private

    def binary(method, target, fields, body)
      pack = ->(hex) { [hex].pack("H*") }
      fields = fields.map do |name, value|
        [pack[name].downcase, pack[value].gsub(/\A[ \t]+|[ \t]+\z/n, "")]
      end
      [pack[method], pack[target], fields, pack[body][0, 64]]
    end
  end
end
