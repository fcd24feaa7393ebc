# frozen_string_literal: true

# The checks that every HTTP client has to pass. A library defines
#
#   get(url)                    the body, by a connection of its own or the library's plainest call;
#                               trusts ca_file
#   get_within(url, seconds)    the same with the library's own read timeout
#   shared { |get| }            calls the block with a `get` for which get.call(url) gives
#                               [body, headers]. All fibers share one client object, as the
#                               library's manual recommends for kept connections. Left out with
#                               `without(*SHARED)`
#   timeout_errors, refused_errors, dropped_errors   classes

require_relative "ends"
require_relative "library"

module Clients
  module HttpChecks
    include Ends

    FIBERS = 50
    TLS_FIBERS = 10
    SHARED_FIBERS = 20
    SHARED_ROUNDS = 10
    SHARED = %i[shared shared_together closed cancelled deadline timed_out].freeze

    class << self
      # @param library [Library]
      def add_checks(library)
        add_together(library)
        add_errors(library)
        add_shared(library)
      end

      private

      def add_together(library)
        library.check(:together, "#{FIBERS} requests inside at once, by address") do
          each_its_own(FIBERS) { |mine| get(url(gate_path("address", FIBERS, mine))) }
        end
        library.check(:by_name, "#{FIBERS} by the name localhost") do
          each_its_own(FIBERS) do |mine|
            get(url(gate_path("name", FIBERS, mine), host: "localhost"))
          end
        end
        library.check(:tls, "#{TLS_FIBERS} with TLS, certificate verified") do
          each_its_own(TLS_FIBERS) do |mine|
            get(url(gate_path("tls", TLS_FIBERS, mine), host: "localhost", tls: true))
          end
        end
      end

      def add_errors(library)
        library.check(:timeout, "its own timeout, while others go on") do
          while_ticking { raises(*timeout_errors) { get_within(url("/stall"), 0.4) } }.class.name
        end
        library.check(:refused, "its own error for a closed port") do
          raises(*refused_errors) { get("http://localhost:#{port(:refused)}/") }.class.name
        end
        library.check(:dropped, "its own error when the server hangs up") do
          raises(*dropped_errors) { get(url("/drop")) }.class.name
        end
      end

      def add_shared(library)
        library.check(:shared, "kept connections, #{SHARED_FIBERS} fibers x #{SHARED_ROUNDS}, " \
                               "none mixed") { share }
        library.check(:shared_together, "#{SHARED_FIBERS} inside at once by one client object") do
          shared do |get|
            each_its_own(SHARED_FIBERS) do |mine|
              get.call(url(gate_path("shared", SHARED_FIBERS, mine))).first
            end
          end
          "#{SHARED_FIBERS} fibers"
        end
        library.check(:closed, "a kept connection that the server has closed") { share_closed }
        library.check(:cancelled, "after a request that NB.all has cancelled, " \
                                  "each is given its own answer") { share_ended(:cancelled) }
        library.check(:deadline, "after one that NB.deadline has ended") { share_ended(:deadline) }
        library.check(:timed_out, "after one that Timeout.timeout has ended") do
          share_ended(:timeout)
        end
      end
    end

    # Every answer is its asker's, and there were fewer connections than requests.
    def share
      connections = []
      shared do |get|
        fibers(SHARED_FIBERS) do |index|
          SHARED_ROUNDS.times do |round|
            mine = "#{index}-#{round}-#{token}"
            body, headers = get.call(url("/echo/#{mine}"))
            same(mine, body)
            connections << headers["x-connection"]
          end
        end
      end
      count = connections.uniq.size
      hold(count < SHARED_FIBERS * SHARED_ROUNDS,
           "no connection was kept: #{count} for #{connections.size} requests")
      "#{connections.size} requests on #{count} connections"
    end

    # The server ends each connection after its answer, without notice. The next request is answered
    # on another connection, or fails with the library's own error. It never gets another request's
    # answer.
    def share_closed
      told = 0
      shared do |get|
        fibers(5) do |index|
          3.times do |round|
            mine = "#{index}-#{round}-#{token}"
            same(mine, get.call(url("/last/#{mine}")).first)
          rescue *dropped_errors
            told += 1
          end
        end
        again(get)
      end
      told.zero? ? "all answered" : "#{told} of 15 failed with the library's own error"
    end

    # At most each of the five connections that were kept may be found closed now.
    def again(get)
      tries ||= 0
      mine = token
      same(mine, get.call(url("/echo/#{mine}")).first)
    rescue *dropped_errors
      (tries += 1) < 6 ? retry : raise
    end
  end
end
