# frozen_string_literal: true

# The tables of docs/guides/configuration.md and docs/guides/check.md, made from tables of the code.
# A test fails when a guide has others. To bring both up to date:
#
#   ruby -Ilib test/support/guide_tables.rb

module GuideTables
end

require_relative "guide_tables/guide_table"
require_relative "guide_tables/gems"
require_relative "guide_tables/settings"

if $PROGRAM_NAME == __FILE__
  [GuideTables::Gems, GuideTables::Settings].each { |tables| tables::GUIDE_TABLE.write }
end
