# frozen_string_literal: true

# A row that is said to yield by a file of lib/neverblock/compat does not without it: it blocks, or
# fails.

require "test_helper"
require "json"
require "open3"
require "rbconfig"
require "hooks/support/hook_table"

class HookCuresTest < Minitest::Test
  HookTable.load.filter_map { |row| row.cure if row.present? }.uniq.each do |file|
    define_method("test_what_#{file}_cures_needs_it") { assert_empty uncured(file) }
  end

  private

  def uncured(file)
    script = File.expand_path("support/uncured.rb", __dir__)
    output, = Open3.capture2(RbConfig.ruby, "-W0", "-Itest", "-Ilib", script, file,
                             chdir: HookTable::ROOT, err: File::NULL)
    JSON.parse(output)
  end
end
