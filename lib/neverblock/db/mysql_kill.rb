# frozen_string_literal: true

# Has a MySQL or MariaDB server end a query whose client was closed. By itself the server would run
# it to its end, with the locks of its transaction.
#
# That takes another connection and the session's number. Behind a proxy or a balancer another
# server may get the request, or the number may be another session's. So the server is asked for its
# sessions. A session is killed when it comes from this host and from the port of the closed
# connection, has the number and runs the query, as far as the driver knows them. A UNIX socket has
# no port, so that only the number tells its sessions apart. Where none fits, nothing is killed.

module NeverBlock
  module DB
    module MysqlKill
      # Columns of SHOW FULL PROCESSLIST.
      ID = 0
      HOST = 2
      COMMAND = 4
      INFO = 7
      private_constant :ID, :HOST, :COMMAND, :INFO

      @seconds = 1

      class << self
        # @return [Integer] time limit in seconds for connecting, asking and killing; default 1
        attr_accessor :seconds

        # Does it in a fiber of its own. Never parks the caller.
        # @param address [Addrinfo] our end of the connection that was closed
        # @param id [Integer, nil] the session's number, where the driver knows it
        # @param sql [String, nil] the query, where the driver knows it
        # @yieldreturn [#query, #close] another connection to the same server; its results' #to_a
        #   has an Array for each row
        # @return [void]
        def later(address, id: nil, sql: nil, &connect)
          return unless Fiber.current_scheduler && (id || address.ip?)

          Fiber.schedule { kill(address, id, sql, &connect) }
        rescue StandardError # the loop accepts no fiber any more
          nil
        end

        private

        # USER() is `name@host` as the server sees this host.
        def kill(address, id, sql)
          NeverBlock.deadline(seconds) do
            client = yield
            host = client.query("SELECT USER()").to_a.first.first[/@(.*)\z/, 1]
            origin = address.ip? ? "#{host}:#{address.ip_port}" : host
            session = at_work(client, origin).find do |row|
              (id.nil? || row[ID] == id) && (sql.nil? || row[INFO]&.b == sql.b)
            end
            client.query("KILL #{session[ID]}") if session
          ensure
            client&.close
          end
        rescue StandardError
          nil # the query ends by itself
        end

        def at_work(client, origin)
          client.query("SHOW FULL PROCESSLIST").to_a.select do |row|
            row[HOST] == origin && row[COMMAND] != "Sleep"
          end
        end
      end
    end
  end
end
