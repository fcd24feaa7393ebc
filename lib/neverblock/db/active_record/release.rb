# frozen_string_literal: true

# Gives back, at a request's end, the connections that the request has leased
# (ActiveRecord::Base.connection; any use in 7.1), where Rails does not. The fiber goes on with
# another request and would keep them.

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

        # Does the same for a fiber that runs no request, in an application without Rails.
        # @return [void]
        def self.now
          return unless defined?(::ActiveRecord::ConnectionAdapters::ConnectionPool)
          return if defined?(::Rails.application) && ::Rails.application

          new(nil).send(:finished)
        end

        def initialize(app)
          @app = app
          @finished = method(:finished).to_proc
        end

        # The Rack application. Parks where the wrapped one does.
        # @return [Array]
        def call(env)
          env["rack.response_finished"] << @finished
          @app.call(env)
        end

        private

        # As ActiveRecord's own hook of Rails' executor does. A connection with an open transaction
        # stays with the fiber that has opened it.
        def finished(*)
          pools = ::ActiveRecord::Base.connection_handler.connection_pool_list(:all)
          pools.each { |pool| release(pool) }
        end

        def release(pool)
          transaction = pool.active_connection?&.current_transaction or return
          pool.release_connection if transaction.closed? || !transaction.joinable?
        end
      end
    end
  end
end
