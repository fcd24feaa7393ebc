# frozen_string_literal: true

# Delivers one input in one way and says what was wrong with what happened, or that nothing was.

require "json"

require_relative "table"

module Conformance
  module Http2
    class Judge
      DELIVERIES = {
        "whole" => ->(bytes) { Wire::Delivery.whole(bytes) },
        "byte by byte" => ->(bytes) { Wire::Delivery.bytewise(bytes) }
      }.freeze

      BY_FRAME = ->(bytes) { Http2Wire::Frames.split(bytes) }

      NAMES = %w[NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT
                 STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR
                 CONNECT_ERROR ENHANCE_YOUR_CALM].freeze

      def initialize(url, input, delivery)
        @url = url
        @input = input
        @delivery = DELIVERIES.fetch(delivery)
        @delivery = BY_FRAME if input.by_frame && delivery != "whole"
      end

      # @return [String, nil] what is wrong
      def complaint
        take_seen # whatever an earlier delivery left behind
        Http2Wire::Client.open(@url) { |client| exchange(client) } || application
      rescue Wire::Error => e
        "#{e.class}: #{e.message}"
      end

      private

      def exchange(client)
        deliver(client)
        fate(client) || wrong_answers(client) || @input.check&.call(client)
      end

      def deliver(client)
        @input.stages.each do |stage|
          stage.is_a?(String) ? client.deliver(@delivery.call(stage)) : stage.call(client)
        end
      rescue Wire::Cut
        raise unless client.goaways.any? # judged by its code
      end

      # What becomes of the connection.
      def fate(client)
        return must_end(client, @input.goaway) if @input.goaway

        collect(client)
        return must_end(client, @input.also_goaway) if client.goaways.any? && @input.also_goaway
        return "GOAWAY #{codes(client.goaways.map(&:first))}" if client.goaways.any?

        must_go_on(client)
      rescue Wire::Cut
        raise unless client.goaways.any?

        @input.also_goaway ? must_end(client, @input.also_goaway) : "the connection has ended: " \
          "GOAWAY #{codes(client.goaways.map(&:first))}"
      end

      # Takes frames until all that is due has come, or the connection is to end.
      def collect(client)
        due = [@input.answers, @input.resets]
        client.settle if due.all?(&:empty?)
        until client.goaways.any? || (@input.answers.keys.all? { |id| over?(client, id) } &&
                                      @input.resets.keys.all? { |id| client.seen(id).code })
          client.frame
        end
      end

      def over?(client, stream)
        client.seen(stream).ended || client.seen(stream).code
      end

      def must_end(client, allowed)
        client.frame until client.goaways.any?
        code = client.goaways.last.first
        return "GOAWAY #{codes([code])}, expected #{codes(allowed)}" unless allowed.include?(code)

        client.ending
        nil
      end

      # RFC 9113 section 5.4.2: a stream error leaves the others alone.
      def must_go_on(client)
        stream = client.next_stream
        client.send(Http2Wire::Frames.get(stream, path: "/again"))
        client.send(Http2Wire::Frames.window_update(stream, 65_535)) if client.ledger.narrow?
        again = client.response(stream)
        unless again.status == 200 && JSON.parse(again.body)["path"] == "/again"
          return "the next request on the connection got #{again.to_a.inspect}"
        end

        client.settle
        "GOAWAY #{codes(client.goaways.map(&:first))}" if client.goaways.any?
      end

      def wrong_answers(client)
        wrong_response(client) || wrong_reset(client)
      end

      def wrong_response(client)
        @input.answers.filter_map { |stream, expected|
          response = client.seen(stream)
          problem = expected.is_a?(Proc) ? expected.call(response) : wrong_status(expected,
                                                                                  response)
          "stream #{stream}: #{problem}" if problem
        }.first
      end

      def wrong_status(expected, response)
        return if response.ended && Array(expected).include?(response.status)

        "#{response.ended ? "status #{response.status}" : "reset #{codes([response.code])}"}, " \
          "expected #{Array(expected).join(" or ")}: #{response.body.byteslice(0, 200)}"
      end

      def wrong_reset(client)
        return if client.goaways.any?

        @input.resets.filter_map { |stream, allowed|
          code = client.seen(stream).code
          "stream #{stream}: #{codes([code])}, not #{codes(allowed)}" unless allowed.include?(code)
        }.first
      end

      def codes(list)
        list.map { |code| code ? NAMES.fetch(code, code) : "no code" }.join(" or ")
      end

      # What the application was shown.
      def application
        return if @input.seen == :any

        seen = take_seen.reject { |record| record["path"] == "/again" }
        unless seen.size == @input.seen.size
          return "the application saw #{seen.size} requests, expected #{@input.seen.size}: " \
                 "#{seen.map { |record| record.slice("method", "path", "body") }}"
        end

        seen.sort_by { |record| record["path"] }.zip(@input.seen).filter_map { |record, expected|
          difference(record, expected)
        }.first
      end

      def difference(record, expected)
        expected.filter_map { |key, value|
          found = key.is_a?(String) ? record["env"][key] : record[key.to_s]
          "the application saw #{key} #{brief(found)}, expected #{brief(value)}" if found != value
        }.first
      end

      def brief(text)
        text.inspect.byteslice(0, 200)
      end

      def take_seen
        Wire::Client.open(@url) do |client|
          client.get("/-/seen", "Connection: close")
          JSON.parse(client.response.body)
        end
      end
    end
  end
end
