# frozen_string_literal: true

# Tells a MySQL or MariaDB server that nobody waits for a query any more, as PostgreSQL is told: by itself the server would run it to its end, with the locks of its
# transaction, though its connection is closed.
#
# That takes a connection of its own, and KILL takes a number, which must not be somebody else's: behind a proxy or a balancer it may be another server that is
# asked, or another number. So the server is asked who runs: a session is killed when it comes from where this process comes from, from the port that was cut, and has
# the number that the driver knows (mysql2) or runs the very query that was cut (trilogy). Where nothing fits, the query is left to itself.

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
        # @return [Integer] for connecting, asking and telling
        attr_accessor :seconds

        # Tells it in a fiber of its own.
        # @param address [Addrinfo] our end of the connection that was cut
        # @param id [Integer, nil] its number in the server, where the driver knows it
        # @param sql [String, nil] what it ran, where not
        # @yieldreturn [#query, #close] another connection to the same server, whose results' #to_a has an array for each row
        # @return [void]
        def later(address, id: nil, sql: nil, &connect)
          Fiber.schedule { kill(address, id, sql, &connect) } if Fiber.current_scheduler
        rescue StandardError # the loop takes no fiber any more
          nil
        end

        private

        def kill(address, id, sql)
          NeverBlock.deadline(seconds) do
            client = yield
            host = client.query("SELECT USER()").to_a.first.first[/@(.*)\z/, 1]
            place = address.ip? ? "#{host}:#{address.ip_port}" : host
            at_work = client.query("SHOW FULL PROCESSLIST").to_a.select { |row| row[HOST] == place && row[COMMAND] != "Sleep" }
            session = at_work.find { |row| id ? row[ID] == id : row[INFO]&.b == sql.b }
            client.query("KILL #{session[ID]}") if session
          ensure
            client&.close
          end
        rescue StandardError
          nil # it ends by itself
        end
      end
    end
  end
end
