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
        # Of a library's method, a first word of these says that it reads, whatever follows it.
        READ_WORDS = %w[
          find get fetch read load_async list search query select count all first last where show
          describe head lookup look_up exist exists include includes any none one many size length
          sum max min maximum minimum average avg pluck pick ids values each filter download info
          stat stats retrieve mget hget hmget hgetall hvals hkeys hlen hstrlen hexists llen
          lrange lindex lpos scard smembers sismember smismember srandmember sinter sintercard
          sunion sdiff zrange zrangebyscore zrangebylex zrevrange zrevrangebyscore zscore zmscore
          zcard zcount zrank zrevrank zinter zunion zdiff ttl pttl strlen ping dbsize hscan sscan
          zscan scan xlen xrange xrevrange xpending getrange getbit bitcount aggregate distinct
          estimated wait peek dig
        ].freeze
        # Only the whole name says that it reads: `start_instances`, `capture_payment` and
        # `open_ticket` do not.
        READ_NAMES = %w[
          mapped_mget mapped_hmget value body keys open_uri open_stream status statuses sleep
          result take! sole second third hrandfield time reader reverse in_batches group group_by
          group_and_count inspect as_json to_json to_a to_ary to_h to_hash then new initialize
          connect connect_nonblock gets getc getbyte recv recvfrom recvmsg recv_nonblock
          getaddrinfo getaddress getaddresses getname getnames getnameinfo getresource
          getresources gethostbyname readline readlines readpartial readbyte readchar offload
          records map flat_map filter_map reduce inject preload sort_by min_by max_by load_target
          with_sql with_sql_all with_sql_first with_sql_each with_sql_single_value values_at
          blpeek valid object url xread
        ].freeze
        READ_NAME = /
          \A((#{Regexp.union(READ_WORDS).source})(_|[?]|\z)|
             (#{Regexp.union(READ_NAMES).source})[?]?\z|empty[?]\z)
        /x
        # Names that read in these classes, and act in others.
        READ_CALLS = /
          \A(Net::HTTP[.#]start|Typhoeus::(Request|Hydra)[.#]run|
             (IO|File|Kernel|URI|URI::\w+|OpenURI|\w*Socket)[.#]open|
             \w*(Socket|Server)[.#](accept|accept_nonblock)|
             (ActiveRecord|ActiveSupport|Sequel|ROM)\b.*[.#](load|sort|collect|join))\z
        /x
        # They change their connection, though a first word says that they read.
        ACTING_CALLS = /\A(Redis|Net::IMAP)\b.*[.#]select\z/
        # What they do is told by what they are given.
        TOLD_CALLS = /
          [.#]((perform_|run_)?request|run|(async_|sync_)?exec(ute)?(_params|_prepared|_query)?|
               call(_v)?|blocking_call)\z|
          \A(.*(?i:graphql).*|Graphlient::Client)[.#]query\z
        /x
        # They give a command to the system.
        COMMANDS = %w[
          system spawn ` popen popen2 popen2e popen3 capture2 capture2e capture3 pipeline pipeline_r
          pipeline_w pipeline_rw pipeline_start backtick
        ].freeze
        READ_BANG = /\A(find_by|find_sole_by|first|last|second|third|take|sole)!\z/
        # They look like reading and are not.
        READS_NO = /
          (_(and|or)_(update|replace|delete|destroy|remove|modify|set|touch|lock|increment|add|
                      append|push|put|create|save|insert|upsert|store|expire|reset|clear))|
          for_update\z|((get|take|receive)_?(del|ex|set)\z)|
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

        HTTP_READ = /\A(get|head|options)\z/i
        HTTP_READ_CLASS = /HTTP.*::(Get|Head|Options)\z/
        HTTP_WRITE = /\A(post|put|patch|delete)\z/i
        HTTP_WRITE_CLASS = /HTTP.*::(Post|Put|Patch|Delete)\z/
        GRAPHQL_READ = /\A(\s|#[^\n]*\n)*(query\b|fragment\b|\{)/
        GRAPHQL_WRITE = /(\A|\}|\n)\s*(mutation|subscription)\b/
        # Stages of a pipeline of MongoDB's that keep what was found.
        STORES = /\A\$(out|merge)\z/

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
          !write?(name) && name.to_s.match?(READ_NAME)
        end

        # @param call [String] a library's class and method, as "Net::HTTP#get"
        # @return [Boolean]
        def read_call?(call)
          return true if READ_CALLS.match?(call)

          !ACTING_CALLS.match?(call) && !TOLD_CALLS.match?(call) && read?(call[/[^.#]+\z/])
        end

        # @param name [String] of a gem's method around the application's
        # @return [Boolean]
        def one_connection?(name)
          ONE_CONNECTION.include?(name.to_sym) || ONE_CONNECTION_INSIDE.include?(name)
        end
      end
    end
  end
end
