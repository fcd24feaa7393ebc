# frozen_string_literal: true

# How many connections a pool may have in a process that serves requests: what database.yml says, where it says something; else a fair share of what the database server
# takes, asked once when the first connection is needed. See docs/decisions/0004.

require "neverblock/errors/causes"
require "neverblock/errors"
require "neverblock/server/serving"

module NeverBlock
  module DB
    module ActiveRecord
      class PoolSize
        # ActiveRecord's own, and what `rails new` writes into database.yml: nobody has thought of it for this application.
        DEFAULT = 5
        # More connections make no database faster; each costs it a process or a thread.
        MOST = 64
        # The others are for the next version's workers while these still end, for jobs, consoles and other applications.
        SHARE = 0.5
        QUESTIONS = {
          # Of a connection that is not a superuser's; role and database may have limits of their own, -1 is none.
          /postg/ => "SELECT LEAST(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int " \
                     "- COALESCE(current_setting('reserved_connections', true), '0')::int, " \
                     "(SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user), " \
                     "(SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))",
          # 0 is none.
          /mysql|trilogy/ => "SELECT LEAST(@@max_connections, IF(@@max_user_connections = 0, @@max_connections, @@max_user_connections))"
        }.freeze
        # Of the pool with which Rails looks in development whether migrations are pending; it is gone afterwards.
        PASSING = "ActiveRecord::PendingMigrationConnection"
        # Rails' log leaves out what is asked under this name.
        LOG_NAME = "SCHEMA"
        private_constant :QUESTIONS, :PASSING, :LOG_NAME

        # @param pool [ActiveRecord::ConnectionAdapters::ConnectionPool]
        # @return [Boolean] whether nobody else will use it
        def self.passing?(pool)
          config = pool.pool_config
          (config.respond_to?(:connection_descriptor) ? config.connection_descriptor : config.connection_class).name == PASSING # the former since 8.0
        end

        # @param pool [ActiveRecord::ConnectionAdapters::ConnectionPool]
        def initialize(pool)
          @pool = pool
          @lock = Thread::Mutex.new
        end

        # Sets the pool's size, once, when a server runs in this process; the fiber may park, and others that come meanwhile. When the database does not answer, the
        # pool stays as it is, and who connects next will say why.
        # @return [void]
        def settle
          return if @settled || (serving = NeverBlock.serving).nil? || self.class.passing?(@pool)

          @lock.synchronize { @settled ||= settle_for(serving) }
        end

        # @return [Boolean] whether database.yml leaves the size to us, or says nothing that could be meant
        def automatic?
          [nil, "auto", DEFAULT, DEFAULT.to_s].include?(written) || unusable?
        end

        private

        # In 8.1 less than 0 is no limit, and the pool has no size.
        def unusable?
          ![nil, "auto"].include?(written) && !@pool.size.nil? && (Integer(written.to_s, 10, exception: false) || 0) < 1
        end

        def written
          configuration.fetch(:max_connections) { configuration[:pool] }
        end

        def configuration
          @pool.db_config.configuration_hash
        end

        # @return [Boolean] whether it is done
        def settle_for(serving)
          serving.warn("ActiveRecord (#{name}): `pool: #{written}` in database.yml is no number of connections: 1 or more is wanted, or auto; taken as auto") if unusable?
          question = question_for(configuration[:adapter].to_s) or return true
          limit = ask(question) or return limit.nil?
          automatic? ? resize(limit, serving) : compare(limit, serving)
          true
        end

        def question_for(adapter)
          QUESTIONS.find { |pattern, _| pattern.match?(adapter) }&.last
        end

        # On a connection of its own, which is closed again.
        # @return [Integer, nil, false] nil: it does not say (a proxy, say); false: it cannot be reached
        def ask(question)
          connection = new_connection
          Integer(connection.select_value(question, LOG_NAME))
        rescue ::ActiveRecord::ConnectionNotEstablished, ::ActiveRecord::ConnectionFailed
          false
        rescue ::ActiveRecord::StatementInvalid, TypeError, ArgumentError => e
          raise if Causes.of(e).any?(Error) # what has ended the request
        ensure
          connection&.disconnect!
        end

        def new_connection
          return @pool.db_config.new_connection if @pool.db_config.respond_to?(:new_connection)

          ::ActiveRecord::Base.public_send(@pool.db_config.adapter_method, configuration) # 7.1
        end

        def resize(limit, serving)
          pools = sharing.size
          share = (limit * SHARE / serving.workers / pools).floor
          size = [share.clamp(1, MOST), serving.fibers].min
          @pool.neverblock_size = size
          others = [("#{serving.workers} workers" if serving.workers > 1), ("#{pools} pools" if pools > 1)].compact
          serving.info("ActiveRecord (#{name}): up to #{size} connections#{" in each of #{others.join(" and ")}" if others.any?}, as the database takes #{limit}; " \
                       "`pool:` with any number but #{DEFAULT} in database.yml is kept")
        end

        def compare(limit, serving)
          return if @pool.size.nil?

          all = sharing.sum { |pool| pool.size.to_i } * serving.workers
          return if all <= limit

          serving.warn("ActiveRecord (#{name}): #{serving.workers} worker#{"s" if serving.workers > 1} may open #{all} connections, and the database takes #{limit}: " \
                       "lower `pool:` in database.yml, or raise the database's max_connections")
        end

        def name
          @pool.db_config.name
        end

        # The pools of the same database server.
        def sharing
          place = ->(pool) { pool.db_config.configuration_hash.values_at(:host, :port, :socket) }
          others = ::ActiveRecord::Base.connection_handler.connection_pool_list(:all).reject { |pool| self.class.passing?(pool) }
          others.select { |pool| place.call(pool) == place.call(@pool) } | [@pool]
        end
      end
    end
  end
end
