# frozen_string_literal: true

# Prepended to Mysql2::Client.

require "neverblock/db/mysql2/wire"

module NeverBlock
  module DB
    module Mysql2
      module Client
        # The gem's own. Inside #_query ours must not be called.
        ASYNC_RESULT = ::Mysql2::Client.instance_method(:async_result)
        # Longest query, in bytes, that fits in the kernel's buffer of an idle connection (Linux: at
        # least 16 KB, tcp_wmem).
        SENT_AT_ONCE_BYTES = 16_384
        private_constant :ASYNC_RESULT, :SENT_AT_ONCE_BYTES

        def async_result
          wire = neverblock_wire
          return super unless wire.asked && Workers.parks?

          wire.asked = false
          wire.occupy { neverblock_answer(wire) }
        end

        def prepare(sql)
          statement = neverblock_work { super(sql) }
          statement.instance_variable_set(:@neverblock_wire, neverblock_wire)
          neverblock_wire.protect(statement)
        end

        def ping
          neverblock_work { super() }
        end

        def select_db(name)
          neverblock_work { super(name) }
        end

        def set_server_option(option)
          neverblock_work { super(option) }
        end

        def abandon_results!
          more_results? ? neverblock_work { super() } : super
        end

        def next_result
          more_results? ? neverblock_work { super() } : super
        end

        def store_result
          neverblock_work { super() }.tap { |result| neverblock_wire.own(result) }
        end

        def reconnect=(wanted)
          neverblock_wire.reconnects = wanted
          super
        end

        # Sends a few bytes, which does not wait. A call that is under way must end before its
        # memory is freed.
        def close
          @neverblock_wire&.end_call
          super.tap { @neverblock_wire&.forget }
        end

        private

        # When the caller is cancelled, the connection is closed once it has been made.
        def connect(*arguments)
          return super unless Workers.parks?

          left = false
          begin
            outcome = Workers.call(:leave) { super(*arguments).tap { close if left } }
          ensure
            left = true unless outcome
          end
          outcome.get(breaks: false)
        end

        # The options are #query's own copy. Their `async` at the time of sending says whether the
        # gem waits for the answer; their other values at the time of reading say how it is read.
        def _query(sql, options)
          wire = neverblock_wire
          wire.asked = false if wire.asked
          return super.tap { wire.asked = true if options[:async] == true } unless Workers.parks?

          wire.occupy do
            asynchronous = options[:async]
            options[:async] = true
            neverblock_send(wire, sql) { super(sql, options) }
            options[:async] = asynchronous
            asynchronous == true ? (wire.asked = true) && nil : neverblock_answer(wire)
          end
        end

        def neverblock_send(wire, sql, &block)
          if wire.reconnects || (sql.is_a?(String) && sql.bytesize > SENT_AT_ONCE_BYTES)
            wire.work(&block)
          else
            yield
          end
        end

        def neverblock_answer(wire)
          wire.await_answer(@read_timeout)
          return wire.own(ASYNC_RESULT.bind_call(self), large: false) if wire.answered?

          wire.own(wire.work { ASYNC_RESULT.bind_call(self) })
        end

        def neverblock_work(&block)
          return yield unless Workers.parks?

          wire = neverblock_wire
          wire.occupy { wire.work(&block) }
        end

        def neverblock_wire
          @neverblock_wire ||= Wire.new(self)
        end
      end
    end
  end
end
