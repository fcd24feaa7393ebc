# frozen_string_literal: true

# Gives back at a request's end what the request has leased (ActiveRecord::Base.connection, or anything in 7.1), where no Rails does it: the fiber goes on with
# another request, and would keep it.

module NeverBlock
  module DB
    module ActiveRecord
      class Release
        # @param app [#call] a Rack application
        # @return [#call] with this around it where ActiveRecord is used without Rails
        def self.around(app)
          return app unless defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool)
          return app if defined?(::Rails.application) && ::Rails.application

          new(app)
        end

        # The same for a fiber that runs no request, in an application without Rails.
        # @return [void]
        def self.now
          new(nil).send(:finished) if defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool) && !(defined?(::Rails.application) && ::Rails.application)
        end

        def initialize(app)
          @app = app
          @finished = method(:finished).to_proc
        end

        # As Rack has it; parks where the application does.
        # @return [Array]
        def call(env)
          env["rack.response_finished"] << @finished
          @app.call(env)
        end

        private

        # As ActiveRecord's own hook of Rails' executor: one with an open transaction is left to who has opened it.
        def finished(*)
          ::ActiveRecord::Base.connection_handler.connection_pool_list(:all).each { |pool| release(pool) }
        end

        def release(pool)
          transaction = pool.active_connection?&.current_transaction or return
          pool.release_connection if transaction.closed? || !transaction.joinable?
        end
      end
    end
  end
end
