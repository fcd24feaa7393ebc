# frozen_string_literal: true

# The table of conformance with HTTP/2: a row for each MUST and MUST NOT of RFC 9113 sections 4 to 8
# and of RFC 7541. The rows are in vectors/*.rb. README.md says how they are delivered and judged.

require_relative "../../support/http2_wire"

module Conformance
  module Http2
    # One delivery.
    # stages: bytes to send, and procs that are called with the client in between.
    # answers: what the responses must be, by stream: statuses, or a proc that returns a complaint.
    # resets: the error codes allowed, by stream. goaway: the error codes allowed; nil: the
    # connection goes on. also_goaway: codes of a connection error that is allowed instead.
    # seen: requests that the application gets, as hashes; :any. check: called with the client at
    # the end, returns a complaint or nil. by_frame: it is never sent byte by byte, but frame by
    # frame. Debian's nghttp2 1.52.0-1+deb12u3 counts each read of a CONTINUATION frame's head as
    # one
    # frame, and gives up beyond eight; versions of nghttp2 itself count frames.
    Input = Struct.new(:row, :name, :stages, :answers, :resets, :goaway, :also_goaway, :seen,
                       :check, :by_frame, keyword_init: true) do
      def label
        "#{row.rfc} #{row.section} #{row.number} #{name}"
      end
    end

    # A row. inputs: what shows it. rules: names of Http2Wire::RULES that every exchange is held to.
    # elsewhere: a file of tests and a text in it. why_not: why it does not bind this server.
    Row = Struct.new(:rfc, :section, :number, :title, :inputs, :rules, :elsewhere, :why_not,
                     keyword_init: true)

    # Builds rows. The methods here are the words that the files in vectors/ are written in, with
    # those of Http2Wire::Frames.
    class Table
      include Http2Wire
      include Http2Wire::Frames

      # Of a request that the table of a row does not say more about.
      ANY_STATUS = [200].freeze

      attr_reader :rows

      def initialize
        @rows = []
      end

      # --- rows ---

      # @param name [String] the document of the rows that follow: "RFC 9113" or "RFC 7541"
      def document(name)
        @document = name
      end

      # A row that inputs show.
      def row(section, title, &block)
        add(section, title)
        instance_eval(&block)
      end

      # A row that binds what the server sends: every exchange of the table is held to these rules.
      def everywhere(section, title, *rules, &block)
        add(section, title, rules: rules)
        instance_eval(&block) if block
      end

      # A row that another test shows, as it needs more than frames.
      def elsewhere(section, title, file, text)
        add(section, title, elsewhere: [file, text])
      end

      def not_applicable(section, title, why)
        add(section, title, why_not: why)
      end

      # --- inputs ---

      # All streams are answered: with 200, or as `on` says.
      # @param on [Hash, Integer] statuses or a proc, by stream; or the one stream
      def answered(name, *stages, on: 1, seen: nil, **options, &check)
        on = { on => ANY_STATUS } if on.is_a?(Integer)
        input(name, stages, answers: on, seen: seen || on.map { {} }, check: check, **options)
      end

      # The stream is reset with the code, or one of them.
      # also: codes of a connection error, which an endpoint may choose instead (RFC 9113 section
      # 5.4.1: nothing else is left once a connection error was chosen)
      def stream_error(name, code, *stages, on: 1, also: nil, seen: [], answers: {}, **options,
                       &check)
        input(name, stages, resets: { on => Array(code) }, also_goaway: also && Array(also),
                            answers: answers, seen: seen, check: check, **options)
      end

      # The connection ends with GOAWAY and the code, or one of them.
      def connection_error(name, code, *stages, seen: [], **options, &check)
        input(name, stages, goaway: Array(code), seen: seen, check: check, **options)
      end

      # The stream is answered. Then the server ends the connection, as its client wants to.
      def ended(name, *stages, on: 1, **options)
        input(name, stages, answers: { on => ANY_STATUS }, goaway: [NO_ERROR], **options)
      end

      # Nothing comes of it: the connection goes on.
      def ignored(name, *stages, seen: [], **options, &check)
        input(name, stages, seen: seen, check: check, **options)
      end

      # Where an endpoint may choose: nothing comes of it, or an error of the stream or of the
      # connection, with these codes. The row says why.
      def dropped(name, *stages, on: 1, resets: [], also: [], seen: :any, **options)
        check = lambda do |client|
          code = client.seen(on).code
          "stream #{on} is reset with #{code}" unless code.nil? || Array(resets).include?(code)
        end
        input(name, stages, also_goaway: Array(also), seen: seen, check: check, **options)
      end

      # @param settings [Hash] of the client, with its preface
      # @param bare [Boolean] without a preface
      def input(name, stages, settings: {}, bare: false, answers: {}, resets: {}, goaway: nil,
                also_goaway: nil, seen: [], check: nil)
        if current.inputs.any? { |input| input.name == name }
          raise ArgumentError, "#{current.section}: #{current.title}: two inputs named #{name}"
        end

        stages = [PREFACE + settings(settings), *stages] unless bare
        current.inputs << Input.new(row: current, name: name, stages: joined(stages),
                                    answers: answers, resets: resets, goaway: goaway,
                                    also_goaway: also_goaway, seen: seen, check: check,
                                    by_frame: continued?(stages))
      end

      # --- parts of inputs ---

      # A stage that goes on once a frame of the type has come.
      def await(type, stream: nil)
        ->(client) { client.await(type, stream: stream) }
      end

      # A stage that goes on once the server has read what was sent.
      def settle
        ->(client) { client.settle }
      end

      # A stage that sends so much content as the server's windows allow it, frame by frame.
      def upload(stream, bytes, padding: nil)
        lambda do |client|
          client.acknowledge # from here on the server's windows hold
          frame = data(stream, "a" * 12_000, padding: padding)
          (bytes / 12_000).times do
            client.frame until client.ledger.room(stream) >= frame.bytesize
            client.send(frame)
          end
        end
      end

      # A stage that goes on once the stream has its response.
      def response(stream)
        ->(client) { client.response(stream) }
      end

      private

      def add(section, title, **how)
        number = @rows.count { |row| row.rfc == @document && row.section == section } + 1
        @rows << Row.new(rfc: @document, section: section, number: number, title: title, inputs: [],
                         rules: [], **how)
      end

      def current
        @rows.last
      end

      # Whether a field block goes on behind its first frame.
      def continued?(stages)
        stages.grep(String).flat_map { |bytes| Frames.split(bytes) }.any? do |frame|
          [HEADERS,
           PUSH_PROMISE].include?(frame.getbyte(3)) && frame.getbyte(4).nobits?(END_HEADERS)
        end
      end

      # Bytes that follow each other are one stage.
      def joined(stages)
        stages.chunk_while { |a, b| a.is_a?(String) && b.is_a?(String) }.map do |run|
          run.first.is_a?(String) ? run.join : run.first
        end
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
end
