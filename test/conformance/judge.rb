# frozen_string_literal: true

# Delivers one input in one way and says what was wrong with what happened, or that nothing was.

require "json"

require_relative "vectors"
require_relative "../support/wire"

module Conformance
  class Judge
    FIRST = "GET /first HTTP/1.1\r\nHost: first\r\n\r\n".b.freeze
    DELIVERIES = {
      "whole" => ->(bytes) { Wire::Delivery.whole(bytes) },
      "byte by byte" => ->(bytes) { Wire::Delivery.bytewise(bytes) },
      "split at every CRLF" => ->(bytes) { Wire::Delivery.by_line(bytes) },
      "behind a valid request" => ->(bytes) { Wire::Delivery.whole(bytes) }
    }.freeze

    def initialize(url, input, delivery)
      @url = url
      @input = input
      @delivery = delivery
      @behind = delivery == "behind a valid request"
    end

    # @return [String, nil] what is wrong
    def complaint
      take_seen # whatever an earlier delivery left behind
      Wire::Client.open(@url) { |client| exchange(client) || fate(client) } || application
    rescue Wire::Error => e
      "#{e.class}: #{e.message}"
    end

    private

    def exchange(client)
      stages = @input.stages
      stages = [FIRST + stages.first, *stages.drop(1)] if @behind
      stages.each do |stage|
        problem = stage == :await_continue ? await_continue(client) : deliver(client, stage)
        return problem if problem
      end
      wrong_answer(client)
    end

    def deliver(client, bytes)
      client.deliver(DELIVERIES.fetch(@delivery).call(bytes))
      nil
    end

    def await_continue(client)
      problem = @behind && wrong_first(client)
      return problem if problem

      line = client.take_line
      return "expected 100 (Continue), saw #{line.inspect}" unless line.match?(%r{\AHTTP/1\.1 100 })

      until client.take_line.empty?; end
      @first_taken = true
      nil
    end

    def wrong_first(client)
      return if @first_taken

      first = client.response
      seen = first.status == 200 && JSON.parse(first.body)
      unless seen && seen["path"] == "/first"
        "the valid request before it was answered with #{first.inspect}"
      end
    end

    def wrong_answer(client)
      problem = @behind && wrong_first(client)
      return problem if problem

      @input.answers.each_with_index do |answer, index|
        @last = take_answer(client, answer)
        problem = judge_answer(answer, @last)
        return "answer #{index + 1}: #{problem}" if problem
      end
      nil
    end

    def take_answer(client, answer)
      if answer.may_be_cut
        return client.response_as_far_as_it_comes(method: answer.method, version: answer.version)
      end

      client.response(method: answer.method, version: answer.version)
    end

    def judge_answer(answer, response)
      unless answer.statuses.include?(response.status)
        return "status #{response.status}, expected #{answer.statuses.join(" or ")}: " \
               "#{response.body.byteslice(0, 100)}"
      end

      answer.check&.call(response)
    end

    # What becomes of the connection, and whether the last response said so.
    def fate(client)
      return must_be_closed(client) if @last.cut?

      announced = @last.announces_close?(@input.answers.last.version)
      case @input.fate
      when :closed
        must_be_closed(client) || ("closed without Connection: close" unless announced)
      when :open
        announced ? "announces the end of a connection that should go on" : must_go_on(client)
      else announced ? must_be_closed(client) : must_go_on(client)
      end
    end

    def must_be_closed(client)
      client.ending
      nil
    rescue Wire::Overdue
      "the connection stays open"
    end

    def must_go_on(client)
      client.get("/again")
      again = client.response
      unless again.status == 200 && JSON.parse(again.body)["path"] == "/again"
        "the next request on the same connection got #{again.inspect}"
      end
    end

    # What the application was shown; asking is itself the next request on a fresh connection.
    def application
      seen = take_seen.reject do |record|
        record["path"] == "/again" && record["env"]["HTTP_HOST"] == "localhost"
      end
      if @behind
        first = seen.find { |record| record["path"] == "/first" } or
          return "the valid request before it never reached the application"
        seen.delete(first)
      end
      unless seen.size == @input.seen.size
        return "the application saw #{seen.size} requests, expected #{@input.seen.size}: " \
               "#{brief(seen)}"
      end

      seen = in_order_sent(seen) if ENV.key?("NB_TEST_WORKERS")
      @input.seen.zip(seen).filter_map { |expected, record| difference(expected, record) }.first
    end

    # Safe requests of a pipeline may run in two workers at once (RFC 9112 section 9.3.2), so they
    # may begin in any order.
    def in_order_sent(seen)
      seen.each_with_index.sort_by { |record, number|
        [@input.seen.index { |expected| expected.path == record["path"] } || seen.size, number]
      }.map(&:first)
    end

    def difference(expected, record)
      want = { "method" => expected.method, "path" => as_recorded(expected.path),
               "query" => as_recorded(expected.query),
               "body" => expected.body.force_encoding("UTF-8") }
      wrong = want.reject { |key, value| record[key] == value }
      unless wrong.empty?
        return "the application saw #{record.slice(*wrong.keys)}, expected #{wrong}"
      end

      wrong = expected.env.reject do |key, allowed|
        allowed.is_a?(Array) ? allowed.include?(record["env"][key]) : record["env"][key] == allowed
      end
      unless wrong.empty?
        return "the application saw #{record["env"].slice(*wrong.keys)}, expected #{wrong}"
      end

      there = expected.absent & record["env"].keys
      unless there.empty?
        "the application saw #{record["env"].slice(*there)}, which should not be there"
      end
    end

    # One character for each byte, as RecorderApp tells bytes.
    def as_recorded(bytes)
      bytes.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
    end

    def brief(records)
      records.map { |record|
        "#{record["method"]} #{record["path"]} (#{record["body"].bytesize} bytes)"
      }.join(", ")
    end

    def take_seen
      Wire::Client.open(@url) do |client|
        client.get("/-/seen", "Connection: close")
        JSON.parse(client.response.body)
      end
    end
  end
end
