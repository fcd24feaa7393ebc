# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # Clients of databases.
  module Databases
    def sqlite_collation(me, turn)
      with_sqlite do |database|
        collation = Class.new { define_method(:compare) { |one, other| turn.call(other <=> one) } }
        database.collation("slow", collation.new)
        database.execute("CREATE TABLE t (name TEXT)")
        %w[b d a c].each { |name| database.execute("INSERT INTO t VALUES (?)", ["#{name}#{me}"]) }
        database.execute("SELECT name FROM t ORDER BY name COLLATE slow").flatten
      end
    end

    def sqlite_function(me, turn)
      with_sqlite do |database|
        database.create_function("slowly", 1) do |function, value|
          function.result = turn.call(value * me)
        end
        database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL " \
                         "SELECT i + 1 FROM n WHERE i < 5) SELECT slowly(i) FROM n").flatten
      end
    end

    def sqlite_aggregate(me, turn)
      with_sqlite do |database|
        sum = Class.new do
          define_method(:initialize) { |*| @sum = 0 }
          define_method(:step) { |value| turn.call && @sum += value }
          define_method(:finalize) { @sum }
        end
        database.define_aggregator("slow_sum", sum.new)
        database.execute("WITH RECURSIVE n(i) AS (SELECT #{me} UNION ALL " \
                         "SELECT i + 1 FROM n WHERE i < #{me + 4}) " \
                         "SELECT slow_sum(i) FROM n").flatten
      end
    end

    def pg_types(me, turn)
      with_pg do |connection|
        decoder = Class.new(PG::SimpleDecoder) do
          define_method(:decode) { |text, *| turn.call("#{text}!") }
        end
        encoder = Class.new(PG::SimpleEncoder) do
          define_method(:encode) { |value, *| turn.call("<#{value}>") }
        end
        params = PG::TypeMapByColumn.new([encoder.new])
        result = connection.exec_params("SELECT $1::text AS a, '#{me}' AS b", ["x#{me}"], 0, params)
        result.type_map = PG::TypeMapByColumn.new([decoder.new, decoder.new])
        result.to_a
      end
    end

    def pg_notices(me, turn)
      with_pg do |connection|
        seen = []
        connection.set_notice_processor { |text| seen << (turn.call(text) rescue $!.message) }
        connection.exec(
          "DO $$ BEGIN FOR i IN 1..4 LOOP RAISE NOTICE 'of % %', #{me}, i; END LOOP; END $$"
        )
        seen << connection.exec("SELECT #{me}").getvalue(0, 0)
      end
    end

    def mysql_stream(me, turn)
      client = Mysql2::Client.new(host: "127.0.0.1", port: Integer(ENV.fetch("NB_MYSQL_PORT")),
                                  username: "root", database: "test")
      rows = []
      client.query("SELECT #{me} AS a UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4",
                   stream: true, cache_rows: false).each { |row| turn.call && rows << row["a"] }
      rows
    ensure
      client&.close
    end

    private

    def with_sqlite
      database = SQLite3::Database.new(":memory:")
      yield database
    ensure
      database&.close
    end

    def with_pg
      connection = PG.connect(host: "127.0.0.1", port: Integer(ENV.fetch("NB_PG_PORT")),
                              user: "postgres", dbname: "postgres")
      yield connection
    ensure
      connection&.close
    end
  end
end

# rubocop:enable Style/RescueModifier
