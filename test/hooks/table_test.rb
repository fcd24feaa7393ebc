# frozen_string_literal: true

# Every row of the table, as one test each: it yields, or it blocks for the reason it gives, or this
# Ruby does not have it. What came out is written to tmp/hooks/<Ruby>.json when the run ends.

require "test_helper"
require "hooks/support/hook_table"
require "hooks/support/isolation"
require "hooks/support/results"

class HookTableTest < Minitest::Test
  RESULTS = HookTable::Results.new
  Minitest.after_run { RESULTS.write(File.join(HookTable::ROOT, "tmp/hooks")) }

  HookTable.load.each do |row|
    define_method("test_#{row.library}: #{row.title}") { hold(row) }
  end

  private

  def hold(row)
    played =
      if row.present?
        HookTable::Isolation.prove(row)
      else
        { "verdict" => "absent", "detail" => row.absence }
      end
    verdict = played["verdict"]
    note = played["detail"] || { "blocks" => row.excuse, "yields" => row.cure }[verdict]
    RESULTS.record(row, verdict, note, locked: played["locked"])
    skip(played["detail"]) if verdict == "unavailable"
    assert_nil HookTable.objection(row, played)
  end
end
