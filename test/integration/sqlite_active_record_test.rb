# frozen_string_literal: true

# ActiveRecord's SQLite adapter in a loop, with its own ways of waiting for a write lock. A fiber of
# the loop loads ActiveRecord, and the driver with it, as a Rails application in development does.

require "minitest/autorun"
require "json"
require "open3"
require "rbconfig"
require_relative "../support/patience"

class SqliteActiveRecordTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  FIBERS = 50

  # Another connection has the write lock until all fibers have come to it. Then each writes once
  # more, in a transaction that it waits in.
  PROGRAM = <<~'RUBY'
    require "active_support"
    require "json"
    require "neverblock"
    require "tmpdir"

    fibers = Integer(ARGV.fetch(0))
    write = lambda do |path, options|
      settings = { adapter: "sqlite3", database: path, pool: fibers, checkout_timeout: 60 }
      ActiveRecord::Base.establish_connection(**settings, **options)
      ActiveRecord::Base.connection.execute(
        "create table if not exists notes (id integer primary key, text text)"
      )
      note = Class.new(ActiveRecord::Base) { self.table_name = "notes" }
      note.count
      holder = SQLite3::Database.new(path)
      holder.execute("begin immediate")
      come = 0
      refused = []
      NB.all(*0...fibers) do |index|
        holder.execute("commit") if (come += 1) == fibers
        note.create!(text: "first #{index}")
        note.transaction do
          note.create!(text: "second #{index}")
          sleep(0.001)
        end
      rescue StandardError => e
        refused << e.class.name
      end
      { refused: refused, written: note.distinct.count(:text), come: come }
    end

    Dir.mktmpdir do |folder|
      NB.run do
        require "active_record"
        ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        settings = { timeout: { timeout: 30_000 }, retries: { retries: 30_000 } }
        told = settings.to_h do |name, options|
          [name, write.call(File.join(folder, name.to_s), options)]
        end
        puts JSON.generate(told)
      end
    end
  RUBY

  def test_fifty_fibers_write_at_once_and_none_is_refused
    ruby = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-rbundler/setup", "-e", PROGRAM]
    output, status = Open3.capture2e("timeout", Patience::SECONDS.to_s, *ruby, FIBERS.to_s)
    assert_predicate status, :success?, output
    all = { "refused" => [], "written" => 2 * FIBERS, "come" => FIBERS }
    assert_equal({ "timeout" => all, "retries" => all }, JSON.parse(output.lines.last))
  end
end
