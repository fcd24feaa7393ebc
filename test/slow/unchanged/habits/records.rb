# frozen_string_literal: true

# ActiveRecord, PostgreSQL. Tokens are of a request, so that rows of another's are seen.

UnchangedHunt.kind :records do
  needs <<~'RUBY'
    require "active_record"
    ActiveRecord::Base.establish_connection(ENV.fetch("NB_HUNT_DATABASE"))
    class Hunt::Row < ActiveRecord::Base
      self.table_name = "hunt_rows"
      scope :of, ->(token) { where(token: token) }
    end
    class Hunt::HandBack
      def initialize(app) = @app = app
      def call(env)
        @app.call(env)
      ensure
        ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
      end
    end
  RUBY

  habit :transaction, <<~'RUBY'
    Hunt::Row.transaction do
      Hunt::Row.create!(token: __T__)
      __BODY__
      out << Hunt::Row.of(__T__).count
      Hunt::Row.of(__T__).delete_all
    end
  RUBY

  habit :rolled_back, <<~'RUBY'
    Hunt::Row.transaction do
      Hunt::Row.create!(token: __T__)
      __WAIT__
      out << Hunt::Row.of(__T__).count
      raise ActiveRecord::Rollback
    end
    out << Hunt::Row.of(__T__).count
  RUBY

  habit :rolled_back_by_error, <<~'RUBY'
    begin
      Hunt::Row.transaction { Hunt::Row.create!(token: __T__); __WAIT__; raise KeyError, "rolled" }
    rescue KeyError => e
      out << e.message << Hunt::Row.of(__T__).count
    end
  RUBY

  habit :savepoint, <<~'RUBY'
    Hunt::Row.transaction do
      Hunt::Row.create!(token: __T__)
      Hunt::Row.transaction(requires_new: true) do
        Hunt::Row.create!(token: __T__)
        __WAIT__
        raise ActiveRecord::Rollback
      end
      out << Hunt::Row.of(__T__).count
      raise ActiveRecord::Rollback
    end
  RUBY

  habit :enumerator_in_transaction, <<~'RUBY'
    Hunt::Row.transaction do
      2.times { Hunt::Row.create!(token: __T__) }
      __WAIT__
      out << Hunt::Row.of(__T__).find_each.next.token <<
        Hunt::Row.of(__T__).in_batches(of: 1).next.count
      out << Enumerator.new { |y| y << Hunt::Row.of(__T__).count }.next
      raise ActiveRecord::Rollback
    end
  RUBY

  habit :fiber_in_transaction, <<~'RUBY'
    Hunt::Row.transaction do
      Hunt::Row.create!(token: __T__)
      out << Fiber.new { __WAIT__; Hunt::Row.of(__T__).count }.resume <<
        Hunt::Row.connection.transaction_open?
      raise ActiveRecord::Rollback
    end
  RUBY

  habit :lock_in_enumerator, <<~'RUBY'
    row__N__ = Hunt::Row.create!(token: __T__)
    Hunt::Row.transaction do
      row__N__.lock!
      Hunt::Row.connection.execute("set local lock_timeout = '3s'")
      out << Enumerator.new { |y| y << Hunt::Row.lock.find(row__N__.id).token }.next
      __WAIT__
    end
    row__N__.destroy
  RUBY

  habit :records_half_way, <<~'RUBY'
    each__N__ = Enumerator.new { |y| y << Hunt::Row.of(__T__).count; __WAIT__; y << 2 }
    out << each__N__.next
  RUBY

  habit :same_connection, <<~'RUBY'
    pid__N__ = Hunt::Row.connection.select_value("select pg_backend_pid()")
    __WAIT__
    out << (pid__N__ == Hunt::Row.connection.select_value("select pg_backend_pid()"))
    out << (Enumerator.new { |y|
      y << Hunt::Row.connection.select_value("select pg_backend_pid()")
    }.next == pid__N__)
  RUBY

  habit :session_setting, <<~'RUBY'
    Hunt::Row.connection.execute("set hunt.v = '#{__T__}'")
    __WAIT__
    out << Hunt::Row.connection.select_value("show hunt.v")
  RUBY

  habit :temporary_table, <<~'RUBY'
    Hunt::Row.connection_pool.with_connection do |connection|
      connection.execute("create temporary table t__N__ as select '#{__T__}'::text as token")
      __WAIT__
      out << Hunt::Row.connection.select_value("select token from t__N__")
    ensure
      connection.execute("drop table if exists t__N__")
    end
  RUBY

  # Without any connection, `cache` caches nothing.
  habit :query_cache, <<~'RUBY'
    Hunt::Row.connection.execute("select 1")
    Hunt::Row.cache do
      out << Hunt::Row.of(__T__).count
      __WAIT__
      Hunt::Row.connection.execute("select 1")
      out << Hunt::Row.connection.query_cache_enabled <<
        Enumerator.new { |y| y << Hunt::Row.connection.query_cache_enabled }.next
    end
  RUBY

  habit :after_commit, <<~'RUBY', setup: <<~'SETUP'
    row__N__ = Committed__N__.create!(token: __T__)
    __WAIT__
    out << row__N__.seen << row__N__.destroy.destroyed?
  RUBY
    class Committed__N__ < ActiveRecord::Base
      self.table_name = "hunt_rows"
      attr_reader :seen
      after_commit { (@seen ||= []) << Hunt::Row.of(token).count }
      before_save { Hunt.nap }
    end
  SETUP

  habit :unscoped_block, <<~'RUBY'
    Hunt::Row.of(__T__).scoping do
      __BODY__
      out << Hunt::Row.count << Hunt::Row.all.to_sql.include?(__T__)
    end
  RUBY

  habit :connected_to, <<~'RUBY'
    ActiveRecord::Base.while_preventing_writes do
      __WAIT__
      out << (Hunt::Row.create!(token: __T__) rescue $!.class)
    end
    out << ActiveRecord::Base.current_preventing_writes.inspect
  RUBY

  habit :statement_error, <<~'RUBY'
    out << (Hunt::Row.connection.select_value("select 1/0") rescue $!.class)
    __WAIT__
    out << Hunt::Row.connection.select_value("select '#{__T__}'")
  RUBY

  habit :query_timeout, <<~'RUBY'
    out << (Timeout.timeout(0.1) {
      Hunt::Row.connection.select_value("select pg_sleep(2)")
    } rescue $!.class)
    out << Hunt::Row.connection_pool.with_connection { |connection|
      connection.select_value("select '#{__T__}'")
    }
  RUBY

  habit :advisory_lock, <<~'RUBY'
    Hunt::Row.connection_pool.with_connection do |connection|
      connection.select_value("select pg_advisory_lock(__N__)")
      __WAIT__
      out << Hunt::Row.connection.select_value("select pg_advisory_unlock(__N__)")
    end
  RUBY

  habit :records_in_thread, <<~'RUBY'
    out << Thread.new {
      ActiveRecord::Base.connection_pool.with_connection { Hunt::Row.of(__T__).count }
    }.value
  RUBY

  habit :load_async, <<~'RUBY'
    relation__N__ = Hunt::Row.of(__T__).load_async
    __WAIT__
    out << relation__N__.to_a.size
  RUBY

  habit :plain_lease, <<~'RUBY'
    Hunt::Row.connection_pool.with_connection do |one|
      __BODY__
      out << Hunt::Row.connection_pool.with_connection { |other| one.equal?(other) }
    end
  RUBY
end
