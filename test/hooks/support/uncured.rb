# frozen_string_literal: true

# Plays the rows that a file of lib/neverblock/compat is said to cure without that file, and prints
# those that yield all the same, as a JSON list.
#
#   ruby -Itest -Ilib test/hooks/support/uncured.rb io_select

require "json"

# What would cure the same, less well: an open of a FIFO would keep one of NB.offload's threads.
ALSO = { "fifo" => ["slow_files"] }.freeze

without = ARGV.fetch(0)
[without, *ALSO[without]].each do |name|
  $LOADED_FEATURES << File.expand_path("../../../lib/neverblock/compat/#{name}.rb", __dir__)
end

module NeverBlock
  module Compat
    # Called by the scheduler, whether it is there or not.
    module TcpFastFallback
      def self.apply = nil
      def self.apply_once = nil
    end
  end
end

require_relative "hook_table"
require_relative "isolation"

rows = HookTable.load.select { |row| row.present? && row.cure == without }
# One of them keeps Ruby's lock for as long as it is let.
bounds = { limit_s: 10, patience_s: HookTable::Stage::PATIENCE_WITH_BLOCKING_S, end_s: 2 }
rows.select! { |row| HookTable::Isolation.play(row, **bounds)["verdict"] == "yields" }
puts JSON.generate(rows.map(&:title))
