# frozen_string_literal: true

# The connection of one Mysql2::Client, as the loop sees it: who is in a call, what waits for its socket, and how it is cut. A call that is left before its
# answer has been read whole (a deadline, a cancel, a time limit) closes the connection, so that nobody is given the rest of that answer.

require "neverblock/db/mysql_kill"
require "socket"

module NeverBlock
  module DB
    module Mysql2
      class Wire
        # The gem's own, which are called where ours have been.
        CLOSE = ::Mysql2::Client.instance_method(:close)
        SOCKET = ::Mysql2::Client.instance_method(:socket)
        # Options of a connection that tells the server to end what another does.
        FOR_KILLING = { reconnect: false, as: :array, cast: true, stream: false, async: false }.freeze
        private_constant :CLOSE, :SOCKET, :FOR_KILLING

        # A query has been sent with `async: true` and its answer not asked for.
        attr_reader :asked
        # The driver connects again by itself (`reconnect: true`).
        attr_accessor :reconnects

        # @param client [Mysql2::Client]
        def initialize(client)
          @client = client
        end

        # Calls the block for the current fiber, unless another one is in a call.
        # @raise [Mysql2::Error] it is; the gem's own words
        def occupy
          enter(Fiber.current)
          begin
            yield
          ensure
            leave
          end
        end

        # @param user [Object] who is in a call from now on, until #leave
        def enter(user)
          raise ::Mysql2::Error, "This connection is in use by: #{@user.inspect}" if @user

          @user = user
          tell_handles
        end

        # Any thread.
        def leave
          @user = nil
          tell_handles
          @left&.close
        end

        def asked=(asked)
          @asked = asked
          tell_handles
        end

        # Has a statement, or a result of one, that the garbage collector finds wait for the end of the call that is under way then.
        # @return the same
        def keep(handle)
          @handles ||= MysqlHandles.new
          tell_handles
          @handles.keep(handle)
        end

        # Parks the fiber until the server has begun to answer.
        # @param seconds [Integer, nil]
        # @raise [Mysql2::Error::TimeoutError] it has not in that time; then the connection is closed
        def await_answer(seconds)
          unless socket.wait_readable(seconds)
            raise ::Mysql2::Error::TimeoutError, "Timeout waiting for a response from the last query. (waited #{seconds} seconds)"
          end
        rescue Exception => e # rubocop:disable Lint/RescueException -- nobody will read what is answered
          e.is_a?(::Mysql2::Error) ? cut : abandon
          raise
        end

        # Calls the block on a thread.
        # @raise whatever the block raises
        def work(&block)
          begin
            outcome = Workers.call(method(:shut)) { NeverBlock.mysql_unlocked(&block) }
          rescue Exception # rubocop:disable Lint/RescueException -- cancelled, by whatever
            abandon
            raise
          end
          outcome.get(breaks: false)
        end

        # Asked after #await_answer.
        # @return [Boolean] whether the answer has come as a whole, so that reading it does not wait
        def answered?
          @plain && NeverBlock.mysql_answered?(@descriptor)
        end

        # Tells a result what it needs of this, if its rows are streamed, or are many.
        # @return [Mysql2::Result, nil] the result
        def own(result, large: true)
          streams = result&.instance_variable_get(:@query_options)&.[](:stream) == true
          result.neverblock_of(self, streams) if result && (large || streams)
          result
        end

        # Ends a call that another fiber or a thread is in, and waits until it has ended.
        def vacate
          user = @user
          return unless user

          shut
          user.cease if user.is_a?(Rows)
          @left = Thread::Queue.new
          @left.pop if @user
          @left = nil
        end

        # Ends what waits for the server.
        def shut
          socket.shutdown(Socket::SHUT_RDWR)
        rescue SystemCallError, IOError, ::Mysql2::Error
          nil # it has ended
        end

        # Without waiting for anything: no answer that is under way reaches anybody.
        def cut
          shut
          CLOSE.bind_call(@client)
          forget
        end

        # As #cut; the server is told, too.
        def abandon
          address = @socket&.local_address
          cut
          MysqlKill.later(address, id: @id) { ::Mysql2::Client.new(**options_for_killing) } if address
        end

        # Gives the descriptor back.
        def forget
          @socket&.close
          @socket = nil
        end

        private

        def options_for_killing
          seconds = MysqlKill.seconds
          { **@client.query_options.except(:init_command), **FOR_KILLING, connect_timeout: seconds, read_timeout: seconds }
        end

        def compressed?
          flags = @client.query_options[:flags]
          flags.is_a?(Integer) ? flags.anybits?(::Mysql2::Client::COMPRESS) : flags.to_s.include?("COMPRESS")
        end

        def tell_handles
          @handles&.busy = !@user.nil? || @asked
        end

        # A descriptor of our own for the gem's socket: the gem may close its own on a thread while a fiber shuts it, and the number be another's by then.
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
