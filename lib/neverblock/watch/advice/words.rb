# frozen_string_literal: true

# What the names of methods say. Where a name is not listed, the advice is rather silent than wrong.

module NeverBlock
  module Watch
    module Advice
      module Words
        # They call their block at once, and do not keep it.
        ITERATORS = %i[
          each each_with_index each_with_object each_entry each_pair each_key each_value each_slice
          each_cons map flat_map filter_map collect select filter reject sort_by min_by max_by
          group_by partition sum inject reduce find detect any? all? none? times upto downto step
          to_h to_set zip loop tap then yield_self transform_values transform_keys index_by
          find_each catch fetch transaction with open synchronize
        ].freeze

        # Their receiver is another afterwards.
        MUTATORS = %i[
          << []= push append prepend unshift concat add store replace insert update delete
          delete_if reject! clear merge! write fill shift pop keep_if delete_at subtract add?
          delete? enq
        ].freeze
        # The receiver is one further, or has one less, or takes more. A constant is not changed.
        ADVANCES = %i[
          next gets readline readlines readbyte readchar getc getbyte each_line rewind seek deq
          sysread readpartial read_nonblock read merge
        ].freeze

        # They set $~ and $1.
        MATCHES = %i[=~ match scan gsub gsub! sub sub! slice slice! === partition rpartition].freeze

        # They end the method, or the request.
        EXITS = %i[
          raise fail throw abort exit exit! halt redirect redirect_to redirect_back
          redirect_back_or_to head error! render not_found pass
        ].freeze

        # Calls whose value nobody takes, and that change nothing that others read.
        HARMLESS = %i[puts p pp print printf warn debug info error log logger sleep].freeze

        # The block's value is dropped; or decides whether there is a next turn.
        DROPS_VALUE = %i[
          each each_with_index each_entry each_pair each_key each_value each_slice each_cons
          each_char each_line times upto downto step loop find_each find_in_batches in_batches
          reverse_each cycle tap
        ].freeze
        STOPS_EARLY = %i[
          find detect find_index any? all? none? one? take_while drop_while loop bsearch cycle
          index rindex first
        ].freeze
        FOLDS = %i[reduce inject each_with_object].freeze

        # They call their block once.
        ONCE = %i[
          tap then yield_self transaction with_lock with_connection checkout hold with synchronize
          lambda proc new open start run catch fetch instrument cache benchmark measure
          uninterrupted deadline timeout respond_to get post define_method silence tagged
        ].freeze

        # In their block a database's connection is in a state that belongs to one after the other.
        ONE_CONNECTION = %i[
          transaction with_lock with_connection with_advisory_lock checkout hold with pipelined
          multi atomic savepoint synchronize lease_connection uninterrupted
        ].freeze
        # ActiveRecord calls these around the callbacks of a record.
        ONE_CONNECTION_INSIDE = %w[
          within_new_transaction with_transaction_returning_status
        ].freeze

        # They change what others see: another order is another result.
        WRITE_METHODS = %w[
          create insert insert_all update update_all upsert upsert_all delete delete_all destroy
          destroy_all save touch increment decrement toggle post put patch publish deliver perform
          enqueue dequeue push pop shift unshift set write store upload transaction commit rollback
          lock unlock acquire release claim reserve poll consume take ack nack receive
          execute_dui execute_insert exec_insert exec_update exec_delete execute_ddl
          begin_db_transaction rmdir mkdir unlink login logout authenticate authorize close reload
          reset move rename append expire
        ].freeze
        # Of a library's method, these beginnings say that it reads.
        READS = %w[
          find get fetch read load list search query select count all first last where show describe
          head lookup look_up exist include any empty none one many size length sum max min average
          avg pluck pick ids to_a to_ary to_h each map flat_map filter collect records value body
          keys resolve download open stat info status scan sleep popen capture request start call
          exec execute perform_request retrieve result take! sole second third mget hget hmget
          hgetall hvals hkeys hlen hexists llen lrange lindex scard smembers sismember srandmember
          sinter sunion sdiff zrange zrevrange zscore zcard zcount zrank ttl pttl strlen ping dbsize
          time reader aggregate distinct estimated reverse in_batches group inspect as_json to_json
          then new initialize connect wait gets recv accept getaddrinfo getaddress system spawn `
          backtick offload run join reduce inject preload sort min_by max_by dig fetch_rows with_sql
          blpeek peek check valid getrange hscan sscan zscan xlen xrange xrevrange xpending object
          url
        ].freeze
        READ_START = /\A(#{Regexp.union(READS).source}|xread\z)/
        READ_BANG = /\A(find_by|find_sole_by|first|last|second|third|take|sole)!\z/
        # They look like reading and are not.
        READS_NO = /
          (_and_(update|replace|delete|modify|set|touch|lock))|((get|take|receive)_?(del|ex|set)\z)|
          pop(min|max)?\z|move\z|readgroup|autoclaim|receive_message|or_create|or_initialize_by!
        /x
        WRITE_START = /
          \A(create|insert|update|upsert|delete|destroy|remove|save|send|deliver|publish|enqueue|
             perform|notify|charge|pay|refund|book|reserve|cancel|submit|register|login|log_in|
             sign_in|authenticate|authorize|add|put|post|patch|write|upload|increment|decrement|
             mark|lock|begin|commit)(_|\z)
        /x

        # Inside of a library these alone tell of a write.
        WRITES_INSIDE = %w[
          exec_insert exec_update exec_delete execute_dui execute_insert execute_ddl _insert_record
          _create_record _update_record _delete_record begin_db_transaction commit_db_transaction
          create_savepoint post put patch delete publish
        ].freeze

        # Drivers that are told what to do by a text.
        TEXT_DRIVERS = %w[PG::Connection Mysql2::Client Trilogy SQLite3::Database
                          SQLite3::Statement].freeze
        TEXT_METHODS = %w[execute exec_query select_all run].freeze
        SINGLE_CONNECTIONS = (TEXT_DRIVERS + %w[Net::HTTP Redis RedisClient TCPSocket UNIXSocket
                                                Socket OpenSSL::SSL::SSLSocket IO]).freeze

        SQL = /\A\s*(\(\s*)*(select|with|values|table|show|explain|insert|update|delete|merge|
                             create|drop|alter|truncate|begin|start|commit|rollback|set|lock|call|
                             do|copy|listen|notify|replace|vacuum|pragma|use)\b/ix
        SQL_READ = /\A\s*(\(\s*)*(select|with|values|table|show|explain)\b/i
        SQL_WRITE_INSIDE = /\b(insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|
                               for\s+(no\s+key\s+)?update|for\s+(key\s+)?share|nextval|setval|
                               advisory|get_lock|release_lock|set_config|last_insert_id|returning|
                               found_rows)\b/ix
        HTTP_WRITE = /\A(post|put|patch|delete)\z/i
        HTTP_WRITE_CLASS = /HTTP.*::(Post|Put|Patch|Delete)\z/

        module_function

        # @param name [String, Symbol] of a method
        def write?(name)
          name = name.to_s
          return false if %w[!= !~ ! == === =~ <= >=].include?(name) || name.match?(READ_BANG)

          name.end_with?("!", "=") || WRITE_METHODS.include?(name) || name.match?(WRITE_START) ||
            name.match?(READS_NO)
        end

        # @param name [String, Symbol] of a library's method
        # @return [Boolean]
        def read?(name)
          !write?(name) && name.to_s.match?(READ_START)
        end

        # @param name [String] of a gem's method around the application's
        # @return [Boolean]
        def one_connection?(name)
          ONE_CONNECTION.include?(name.to_sym) || ONE_CONNECTION_INSIDE.include?(name)
        end

        # @param texts [Array<String>] literals that the call may be given
        # @return [Symbol] :read, :write, or :unknown where none is SQL
        def sql(texts)
          statements = texts.grep(SQL)
          return :unknown if statements.empty?

          reads = statements.all? { |text| SQL_READ.match?(text) && !SQL_WRITE_INSIDE.match?(text) }
          reads ? :read : :write
        end
      end
    end
  end
end
