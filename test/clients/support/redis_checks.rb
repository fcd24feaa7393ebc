# frozen_string_literal: true

# What every Redis client has to show, against a real Redis. A library defines
#
#   connect(**options)    a client; options: port, host, timeout (of reading), ssl
#   call(client, *command)
#   timeout_errors, refused_errors, dropped_errors

require_relative "ends"
require_relative "library"

module Clients
  module RedisChecks
    include Ends

    FIBERS = 50

    class << self
      # @param library [Library]
      def add_checks(library)
        library.check(:together, "#{FIBERS} BLPOP wait inside at once, by address") do
          pop_together("127.0.0.1")
        end
        library.check(:by_name, "#{FIBERS} by the name localhost") { pop_together("localhost") }
        library.check(:tls, "10 with TLS (a relay's), certificate verified") { over_tls }
        library.check(:kept, "20 fibers x 50 commands on kept connections, none mixed") { keep }
        library.check(:timeout, "its own timeout, while others go on") do
          while_ticking {
            raises(*timeout_errors) { call(connect(timeout: 0.4), "BLPOP", token, 3) }
          }.class.name
        end
        add_ends(library)
        library.check(:refused, "its own error for a closed port") do
          raises(*refused_errors) {
            call(connect(port: port(:refused), host: "localhost"), "PING")
          }.class.name
        end
        library.check(:dropped, "its own error when the server hangs up") do
          raises(*dropped_errors) { call(connect(port: port(:drop)), "PING") }.class.name
        end
      end

      private

      def add_ends(library)
        library.check(:cancelled, "after a command that NB.all has cancelled, " \
                                  "each is given its own answer") { pop_ended(:cancelled) }
        library.check(:deadline, "after one that NB.deadline has ended") { pop_ended(:deadline) }
        library.check(:timed_out, "after one that Timeout.timeout has ended") do
          pop_ended(:timeout)
        end
      end
    end

    # Redis still serves a BLPOP that has ended here. The next call of the same client must not get
    # that answer.
    def pop_ended(way)
      client = connect(attempts: 1)
      server = connect
      key = token
      blocked = -> { call(server, "INFO", "clients")[/blocked_clients:(\d+)/, 1] == "1" }
      end_work(way, -> { eventually("it blocks", &blocked) }) { call(client, "BLPOP", key, 5) }
      call(server, "RPUSH", key, "another's", "another's")
      3.times { token.then { |mine| same(mine, call(client, "ECHO", mine)) } }
      "by #{way}"
    ensure
      disconnect(client)
      disconnect(server)
    end

    # How many wait, and after how many seconds one that blocks the thread gives up.
    def waiters
      [FIBERS, 6]
    end

    # Every fiber waits in BLPOP for a list of its own. They are served only when Redis says that
    # all wait.
    def pop_together(host)
      count, limit = waiters
      prefix = token
      server = connect
      results = {}
      count.times do |index|
        Fiber.schedule { results[index] = pop(host, "#{prefix}-#{index}", limit) }
      end
      eventually("#{count} blocked clients of Redis") do
        results.any? || call(server, "INFO", "clients")[/blocked_clients:(\d+)/, 1].to_i >= count
      end
      not_served(results)
      count.times { |index| call(server, "RPUSH", "#{prefix}-#{index}", "value #{index}") }
      eventually("#{count} answers") { results.size == count }
      count.times { |index| same(["#{prefix}-#{index}", "value #{index}"], results[index]) }
      "#{count} fibers"
    ensure
      disconnect(server)
    end

    def not_served(results)
      result = results.values.first
      raise result if result.is_a?(Exception)
      raise Blocked, "one fiber's BLPOP had ended before all were inside" if results.any?
    end

    def pop(host, key, limit)
      client = connect(host: host, timeout: 10)
      call(client, "BLPOP", key, limit)
    rescue StandardError => e
      e
    ensure
      disconnect(client)
    end

    def over_tls
      relayed = relay(port(:redis), tls: true)
      each_its_own(10) do |mine|
        client = connect(host: "localhost", port: relayed, ssl: true)
        call(client, "SET", "tls-#{mine}", mine)
        call(client, "GET", "tls-#{mine}").tap { disconnect(client) }
      end
    end

    def keep
      fibers(20) do |index|
        client = connect
        50.times do |round|
          mine = "#{index}-#{round}-#{token}"
          same(mine, call(client, "ECHO", mine))
        end
        disconnect(client)
      end
      "1000 commands on 20 connections"
    end

    def disconnect(client)
      client&.close
    end
  end
end
