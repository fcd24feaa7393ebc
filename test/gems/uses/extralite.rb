# frozen_string_literal: true

Gems.use "extralite" do
  requires "extralite", "tmpdir"
  setup do
    FILE = File.join(Dir.mktmpdir("neverblock-extralite").tap { |made|
      at_exit { FileUtils.rm_rf(made) }
    }, "rows.db")
    OPEN = -> { Extralite::Database.new(FILE).tap { |database| database.busy_timeout = 60 } }
    OPEN.call.tap do |database|
      database.pragma(journal_mode: "wal", synchronous: "off")
      database.execute("create table rows(id text, value text)")
    end.close
  end
  answer do |id|
    database = OPEN.call
    database.transaction do
      database.execute("insert into rows values(?, ?)", id, "half")
      Hunt.nap
      database.prepare("update rows set value = ? where id = ?").execute(id * 2, id)
    end
    database.execute("update rows set value = value || ? where id = ?", "!", id)
    rows = database.query_splat("select value from rows where id = ?", id)
    database.query("select ? as a union select 'b'", id) { |row| Hunt.nap && rows << row }
    rows.tap { database.close }
  end
end
