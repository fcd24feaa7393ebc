# frozen_string_literal: true

# The connection of one Mysql2::Client as the loop sees it: which fiber is in a call, waits for the
# socket, and the early end. A call that is left before its answer has been read (a deadline, a
# cancel, a time limit) closes the connection, so that nobody gets the rest of that answer.

require "neverblock/db/mysql_kill"
require "socket"

module NeverBlock
  module DB
    module Mysql2
      class Wire
        # The gem's own methods. Ours of these names must not be called here.
        CLOSE = ::Mysql2::Client.instance_method(:close)
        SOCKET = ::Mysql2::Client.instance_method(:socket)
        # Options of the connection that sends KILL.
        FOR_KILLING = {
          reconnect: false, as: :array, cast: true, stream: false, async: false
        }.freeze
        private_constant :CLOSE, :SOCKET, :FOR_KILLING

        # @return [Boolean] whether a query was sent with `async: true` and its answer not read yet
        attr_reader :asked
        # @return [Boolean] whether the driver connects again by itself (`reconnect: true`)
        attr_accessor :reconnects

        # @param client [Mysql2::Client]
        def initialize(client)
          @client = client
        end

        # Calls the block for the current fiber.
        # @raise [Mysql2::Error] when another one is in a call; in the gem's own words
        def occupy
          enter(Fiber.current)
          begin
            yield
          ensure
            leave
          end
        end

        # @param user [Object] what is in a call from now on, until #leave
        def enter(user)
          raise ::Mysql2::Error, "This connection is in use by: #{@user.inspect}" if @user

          @user = user
          tell_handles
        end

        # Ends the call of #enter. May be called on any thread.
        def leave
          @user = nil
          tell_handles
          left = @left
          @left = nil
          left&.close
        end

        def asked=(asked)
          @asked = asked
          tell_handles
        end

        # Has the handle freed only after the call that is under way when it is collected.
        # @param handle [Mysql2::Statement, Mysql2::Result] a statement, or a result of one
        # @return the same
        def protect(handle)
          @handles ||= MysqlHandles.new
          tell_handles
          @handles.keep(handle)
        end

        # Parks the fiber until the server has begun to answer.
        # @param seconds [Integer, nil] nil: no limit
        # @raise [Mysql2::Error::TimeoutError] when the time is over; then the connection is closed
        def await_answer(seconds)
          answered = socket.wait_readable(seconds)
          return if answered

          raise ::Mysql2::Error::TimeoutError,
                "Timeout waiting for a response from the last query. (waited #{seconds} seconds)"
        rescue ::Mysql2::Error
          answered = false
          discard
          raise
        ensure
          abandon if answered.nil?
        end

        # Calls the block on a thread and parks the fiber until it has ended.
        # @raise whatever the block raises
        def work(&block)
          begin
            outcome = Workers.call(method(:shut)) { NeverBlock.mysql_unlocked(&block) }
          ensure
            abandon unless outcome
          end
          outcome.get(breaks: false)
        end

        # Called after #await_answer.
        # @return [Boolean] whether the answer has come as a whole, so that reading it does not wait
        def answered?
          @plain && NeverBlock.mysql_answered?(@descriptor)
        end

        # Gives a result this connection, if its rows are streamed or many.
        # @return [Mysql2::Result, nil] the result
        def own(result, large: true)
          streams = result&.instance_variable_get(:@query_options)&.[](:stream) == true
          result.neverblock_of(self, streams) if result && (large || streams)
          result
        end

        # Ends a call that another fiber or a thread is in. Parks until it has ended. Several may
        # wait for the same call.
        def end_call
          user = @user
          return unless user

          shut
          user.cease if user.is_a?(Rows)
          left = (@left ||= Thread::Queue.new)
          left.pop if @user
        end

        # Shuts the socket down, which ends all waits for the server.
        def shut
          socket.shutdown(Socket::SHUT_RDWR)
        rescue SystemCallError, IOError, ::Mysql2::Error
          nil # it has ended
        end

        # Closes the connection without waiting. The rest of an answer under way reaches nobody.
        def discard
          shut
          CLOSE.bind_call(@client)
          forget
        end

        # As #discard, and has the server end the query (MysqlKill).
        def abandon
          address = @socket&.local_address
          discard
          return unless address

          options = options_for_killing
          MysqlKill.later(address, server: options, id: @id) { ::Mysql2::Client.new(**options) }
        end

        # Closes our descriptor of the socket.
        def forget
          @socket&.close
          @socket = nil
        end

        private

        def options_for_killing
          seconds = MysqlKill.seconds
          {
            **@client.query_options.except(:init_command), **FOR_KILLING,
            connect_timeout: seconds, read_timeout: seconds
          }
        end

        def compressed?
          flags = @client.query_options[:flags]
          return flags.anybits?(::Mysql2::Client::COMPRESS) if flags.is_a?(Integer)

          flags.to_s.include?("COMPRESS")
        end

        def tell_handles
          @handles&.busy = !@user.nil? || @asked
        end

        # A descriptor of our own for the gem's socket. The gem may close its own on a thread while
        # a fiber shuts it down, and another file may have its number by then.
        def socket
          descriptor = SOCKET.bind_call(@client)
          return @socket if @socket && @descriptor == descriptor && !@reconnects

          forget
          @descriptor = descriptor
          @id = @client.thread_id
          @plain = @client.ssl_cipher.nil? && !compressed?
          @socket = Sockets.spare(Sockets.copy_of(descriptor))
        end
      end
    end
  end
end
