# frozen_string_literal: true

# How many connections a pool may have in a process that serves requests. A number in database.yml
# decides. Without one it is a share of the database server's limit, which is asked for once, when
# the first connection is needed. See docs/decisions/0004.

require "neverblock/errors/causes"
require "neverblock/errors"
require "neverblock/server/serving"
require "neverblock/verbs/deadline"

module NeverBlock
  module DB
    module ActiveRecord
      class PoolSize
        # ActiveRecord's default, which `rails new` writes into database.yml. So it is no choice.
        DEFAULT = 5
        # More connections make no database faster. Each costs it a process or a thread.
        MOST = 64
        # The rest is for the next version's workers while these still end, for jobs, consoles and
        # other applications.
        SHARE = 0.5
        # For a connection that is not a superuser's. Role and database may have limits of their
        # own; -1 is no limit.
        POSTGRESQL = <<~SQL.tr("\n", " ").strip
          SELECT LEAST(current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int
          - COALESCE(current_setting('reserved_connections', true), '0')::int,
          (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
          (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))
        SQL
        # A max_user_connections of 0 is no limit.
        MYSQL = "SELECT LEAST(@@max_connections, " \
                "IF(@@max_user_connections = 0, @@max_connections, @@max_user_connections))"
        # Pattern of an adapter's name => query for the limit.
        QUESTIONS = { /postg/ => POSTGRESQL, /mysql|trilogy/ => MYSQL }.freeze
        # The class of the pool with which Rails looks for pending migrations in development. That
        # pool is removed afterwards.
        PASSING = "ActiveRecord::PendingMigrationConnection"
        # Rails' log leaves out queries with this name.
        LOG_NAME = "SCHEMA"
        private_constant :POSTGRESQL, :MYSQL, :QUESTIONS, :PASSING, :LOG_NAME

        # @param pool [ActiveRecord::ConnectionAdapters::ConnectionPool]
        # @return [Boolean] whether Rails uses the pool only to look for pending migrations
        def self.passing?(pool)
          config = pool.pool_config
          owner = if config.respond_to?(:connection_descriptor) # since 8.0
                    config.connection_descriptor
                  else
                    config.connection_class
                  end
          owner.name == PASSING
        end

        # Seconds after which a database that could not be reached is asked again.
        AGAIN_S = 1

        # @param pool [ActiveRecord::ConnectionAdapters::ConnectionPool]
        def initialize(pool)
          @pool = pool
          @lock = Thread::Mutex.new
          @answered = Thread::ConditionVariable.new
          @again_at = 0
        end

        # Sets the pool's size, once, when a server runs in this process. Parks the fiber; others
        # that come meanwhile wait with it, at most checkout_timeout. When the database does not
        # answer, the size stays as it is, and the next connect raises the error.
        # @return [void]
        def settle
          return if @settled

          serving = NeverBlock.serving
          return if serving.nil? || self.class.passing?(@pool)
          return if @pool.mon_owned? # who asks may need that lock

          settle_by_asking(serving) if begin_asking
        end

        # @return [Boolean] whether the size is ours to choose: database.yml has no number, or an
        #   invalid one
        def automatic?
          [nil, "auto", DEFAULT, DEFAULT.to_s].include?(written) || unusable?
        end

        private

        # @return [Boolean] whether this fiber is to ask; it waits for another that does
        def begin_asking
          @lock.synchronize do
            next wait_for_answer if @asking
            next if @settled || Deadline.now < @again_at

            @asking = true
          end
        end

        def wait_for_answer
          @answered.wait(@lock, @pool.checkout_timeout)
          false
        ensure
          Compat.relock(@lock)
        end

        def settle_by_asking(serving)
          settled = settle_for(serving)
        ensure
          Compat.shielded do
            @lock.synchronize do
              @asking = false
              @settled = settled
              @again_at = Deadline.now + AGAIN_S
              @answered.broadcast
            end
          end
        end

        # Whether database.yml has a size that is no number of at least 1. In 8.1 a number below 0
        # is no limit, and the pool has no size.
        def unusable?
          return false if [nil, "auto"].include?(written) || @pool.size.nil?

          (Integer(written.to_s, 10, exception: false) || 0) < 1
        end

        def written
          configuration.fetch(:max_connections) { configuration[:pool] }
        end

        def configuration
          @pool.db_config.configuration_hash
        end

        # @return [Boolean] whether the size is final
        def settle_for(serving)
          warn_of_unusable(serving) if unusable?
          question = question_for(configuration[:adapter].to_s) or return true
          limit = ask(question) or return limit.nil?
          automatic? ? resize(limit, serving) : compare(limit, serving)
          true
        end

        def warn_of_unusable(serving)
          serving.warn("ActiveRecord (#{name}): `pool: #{written}` in database.yml is no number " \
                       "of connections: 1 or more is wanted, or auto; taken as auto")
        end

        def question_for(adapter)
          QUESTIONS.find { |pattern, _| pattern.match?(adapter) }&.last
        end

        # Asks on a connection of its own, which is closed again. Parks the fiber.
        # @return [Integer, nil, false] the limit; nil: the server does not tell it (a proxy, for
        #   instance); false: it cannot be reached
        def ask(question)
          connection = new_connection
          Integer(connection.select_value(question, LOG_NAME))
        rescue ::ActiveRecord::ConnectionNotEstablished, ::ActiveRecord::ConnectionFailed,
               ::ActiveRecord::NoDatabaseError # any failure whose text has the database's name
          false
        rescue ::ActiveRecord::StatementInvalid, TypeError, ArgumentError => e
          raise if Causes.of(e).any?(Error) # it ends the request
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
          serving.info("ActiveRecord (#{name}): up to #{size} connections" \
                       "#{each_of(serving, pools)}, as the database takes #{limit}; " \
                       "`pool:` with any number but #{DEFAULT} in database.yml is kept")
        end

        def each_of(serving, pools)
          others = [("#{serving.workers} workers" if serving.workers > 1),
                    ("#{pools} pools" if pools > 1)].compact
          " in each of #{others.join(" and ")}" if others.any?
        end

        def compare(limit, serving)
          return if @pool.size.nil?

          all = sharing.sum { |pool| pool.size.to_i } * serving.workers
          return if all <= limit

          workers = "#{serving.workers} worker#{"s" if serving.workers > 1}"
          serving.warn("ActiveRecord (#{name}): #{workers} may open #{all} connections, " \
                       "and the database takes #{limit}: " \
                       "lower `pool:` in database.yml, or raise the database's max_connections")
        end

        def name
          @pool.db_config.name
        end

        # @return [Array] the pools of the same database server, this one among them
        def sharing
          all = ::ActiveRecord::Base.connection_handler.connection_pool_list(:all)
          others = all.reject { |pool| self.class.passing?(pool) }
          others.select { |pool| address_of(pool) == address_of(@pool) } | [@pool]
        end

        def address_of(pool)
          pool.db_config.configuration_hash.values_at(:host, :port, :socket)
        end
      end
    end
  end
end
