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

      # A query to end.
      # @!attribute address [Addrinfo] our end of the connection that was closed
      # @!attribute id [Integer, nil] the session's number, where the driver knows it
      # @!attribute sql [String, nil] the query, where the driver knows it
      Query = Struct.new(:address, :id, :sql) do
        # @return [Boolean] whether nothing tells its session apart
        def unknown?
          id.nil? && !address.ip?
        end

        # @param row [Array] of SHOW FULL PROCESSLIST
        # @param host [String] this host as the server sees it
        def runs_in?(row, host)
          row[HOST] == (address.ip? ? "#{host}:#{address.ip_port}" : host) &&
            row[COMMAND] != "Sleep" && (id.nil? || row[ID] == id) &&
            (sql.nil? || row[INFO]&.b == sql.b)
        end
      end
      private_constant :Query

      # Fiber-local: the fiber is one that ends queries. Where its own are cut off, the server does
      # not answer, and a further connection would not help.
      KILLS = :neverblock_mysql_kill
      private_constant :KILLS

      @seconds = 1
      @wanted = {} # scheduler and server => queries to end

      class << self
        # @return [Integer] time limit in seconds for connecting and for each answer; default 1
        attr_accessor :seconds

        # Does it in a fiber of its own, with one connection for all queries of a server that are to
        # be ended meanwhile. Never parks the caller.
        # @param address [Addrinfo] our end of the connection that was closed
        # @param server [Object] a Hash key: which server, for which user
        # @param id [Integer, nil] the session's number, where the driver knows it
        # @param sql [String, nil] the query, where the driver knows it
        # @yieldreturn [#query, #close] another connection to the same server; its results' #to_a
        #   has an Array for each row
        # @return [void]
        def later(address, server:, id: nil, sql: nil, &connect)
          scheduler = Fiber.current_scheduler
          query = Query.new(address, id, sql)
          return if scheduler.nil? || Thread.current[KILLS] || query.unknown?

          key = [scheduler, server]
          return @wanted[key] << query if @wanted.key?(key)

          @wanted[key] = [query]
          begin_work(key, &connect)
        end

        private

        def begin_work(key, &connect)
          Fiber.schedule { work_off(key, &connect) }
        rescue StandardError # the loop accepts no fiber any more
          @wanted.delete(key)
        end

        def work_off(key, &connect)
          Thread.current[KILLS] = true
          queries = @wanted[key]
          kill_all(queries, &connect) until queries.empty?
        rescue StandardError
          nil # the queries end by themselves
        ensure
          Thread.current[KILLS] = nil
          @wanted.delete(key)
        end

        def kill_all(queries)
          client = limited { yield }
          host = ask(client, "SELECT USER()").first.first[/@(.*)\z/, 1]
          kill(queries.slice!(0..), client, host) until queries.empty?
        ensure
          limited { client.close } if client
        end

        def kill(queries, client, host)
          rows = ask(client, "SHOW FULL PROCESSLIST")
          queries.each do |query|
            row = rows.find { |one| query.runs_in?(one, host) }
            ask(client, "KILL #{row[ID]}") if row
          rescue FromOutside
            raise
          rescue StandardError
            next # it has ended meanwhile
          end
        end

        def ask(client, sql)
          limited { client.query(sql).to_a }
        end

        def limited(&block)
          NeverBlock.deadline(seconds, &block)
        end
      end
    end
  end
end
