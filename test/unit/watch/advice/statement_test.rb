# frozen_string_literal: true

require_relative "../watch_case"
require "neverblock/watch/advice/statement"

# Texts of SQL, and which of them only read.
class AdviceStatementTest < WatchCase
  READ = [
    "SELECT 1", "(SELECT 1) UNION (SELECT 2)", "SELECT 1;", "EXPLAIN (ANALYZE) SELECT 1",
    "SELECT count(*) FROM t WHERE id IN (1, 2) AND NOT (a) AND (b = 1 OR (c = 2))",
    "SELECT * FROM t WHERE id = ANY(?) ORDER BY coalesce(a, b) LIMIT 3",
    "WITH RECURSIVE x(a) AS (SELECT 1), y (b) AS MATERIALIZED (SELECT 2) SELECT * FROM x, y",
    "SELECT * FROM (VALUES (1, 2)) AS v(a, b)", "SELECT * FROM a JOIN b USING (id)",
    "SELECT sum(x) FILTER (WHERE y) OVER (PARTITION BY z) FROM t",
    'SELECT * FROM "public"."users" WHERE "id" = ? AND "name" IN (?)',
    "SELECT pg_catalog.now() - interval '1 day'", "SELECT DISTINCT ON (a) a FROM t",
    "SELECT 'into (f(1)) :=', $tag$ f(1) $tag$ /* f(1) */ -- don't f(1)\nFROM t"
  ].freeze
  WRITES = [
    "SELECT * INTO n FROM t", "SELECT * FROM t -- don't\nINTO OUTFILE 'x'", "SELECT @n := @n + 1",
    "SELECT pg_notify('a', 'b')", "SELECT lo_create(0)", "SELECT currval('s')",
    "SELECT pg_advisory_lock(1)", "SELECT reserve_seat($1)", "SELECT reserve_seat ($1)",
    "SELECT * FROM app.take_job($1)", 'SELECT "reserve"(1)', "SELECT `reserve`(1)",
    "SELECT ?(1)", "SELECT ?.take(1)", "SELECT 1; DELETE FROM t", "SELECT 1; CALL x()",
    "WITH x AS (UPDATE ONLY t SET a = 1) SELECT 1", "WITH a AS (SELECT 1) DELETE FROM t",
    "WITH a AS (SELECT 1) INSERT INTO b SELECT 1", "SELECT 1 /*!50000 INTO @x */",
    "SELECT a FROM t FOR SHARE", "SELECT a FROM t FOR NO KEY UPDATE", "DELETE FROM t", "BEGIN"
  ].freeze

  def test_what_reads
    READ.each { |text| assert_equal(:read, Advice::Statement.told([text]), text) }
  end

  def test_what_writes_or_may
    WRITES.each { |text| assert_equal(:write, Advice::Statement.told([text]), text) }
  end

  def test_each_of_several_texts_has_to_read
    assert_equal(:write, Advice::Statement.told(["SELECT 1", "name", "SELECT take(1)"]))
    assert_equal(:read, Advice::Statement.told(["SELECT 1", "name", "take(1)"]))
  end

  def test_what_is_no_sql_is_not_known
    assert_equal(:unknown, Advice::Statement.told(["name", "find_user"]))
  end
end
