# frozen_string_literal: true

UnchangedHunt.kind :sequel do
  needs <<~'RUBY'
    require "sequel"
    Hunt::SEQUEL = Sequel.connect(
      ENV.fetch("NB_HUNT_DATABASE").sub("postgresql:", "postgres:").sub(/\?.*/, ""),
      max_connections: 16, pool_timeout: 60
    )
  RUBY

  habit :sequel_transaction, <<~'RUBY'
    Hunt::SEQUEL.transaction do
      Hunt::SEQUEL[:hunt_rows].insert(token: __T__)
      __BODY__
      out << Hunt::SEQUEL[:hunt_rows].where(token: __T__).count
      raise Sequel::Rollback
    end
    out << Hunt::SEQUEL[:hunt_rows].where(token: __T__).count
  RUBY

  habit :sequel_enumerator, <<~'RUBY'
    Hunt::SEQUEL.transaction(rollback: :always) do
      2.times { Hunt::SEQUEL[:hunt_rows].insert(token: __T__) }
      __WAIT__
      each__N__ = Hunt::SEQUEL[:hunt_rows].where(token: __T__).to_enum
      out << each__N__.next[:token] << each__N__.next[:token] <<
        Enumerator.new { |y| y << Hunt::SEQUEL[:hunt_rows].where(token: __T__).count }.next
    end
  RUBY

  habit :sequel_fiber, <<~'RUBY'
    Hunt::SEQUEL.transaction(rollback: :always) do
      Hunt::SEQUEL[:hunt_rows].insert(token: __T__)
      out << Fiber.new {
        __WAIT__
        [Hunt::SEQUEL.in_transaction?, Hunt::SEQUEL[:hunt_rows].where(token: __T__).count]
      }.resume
    end
  RUBY

  habit :sequel_half_way, <<~'RUBY'
    each__N__ = Enumerator.new { |y| Hunt::SEQUEL.synchronize { y << __T__; y << 2 } }
    out << each__N__.next << each__N__.next << (each__N__.next rescue $!.class)
  RUBY

  habit :sequel_session, <<~'RUBY'
    Hunt::SEQUEL.synchronize do
      Hunt::SEQUEL.run("set hunt.v = '#{__T__}'")
      __WAIT__
      out << Hunt::SEQUEL.get(Sequel.lit("current_setting('hunt.v')"))
    end
  RUBY

  habit :sequel_hooks, <<~'RUBY'
    Hunt::SEQUEL.transaction do
      Hunt::SEQUEL.after_commit { out << "committed" }
      Hunt::SEQUEL.transaction(savepoint: true) { __WAIT__; raise Sequel::Rollback }
      out << Hunt::SEQUEL.in_transaction?
    end
  RUBY

  habit :sequel_timeout, <<~'RUBY'
    begin
      out << Timeout.timeout(0.1) { Hunt::SEQUEL.get(Sequel.lit("pg_sleep(2)")) }
    rescue Sequel::DatabaseConnectionError
      retry # on a thread, where it has come while a connection was made
    rescue StandardError
      out << $!.class
    end
    out << Hunt::SEQUEL.get(Sequel.lit("'#{__T__}'::text"))
  RUBY

  habit :sequel_each, <<~'RUBY'
    Hunt::SEQUEL["select '#{__T__}'::text as token, n from generate_series(1, 3) n"].each do |row|
      __WAIT__
      out << row[:token] << row[:n]
    end
  RUBY
end
