# frozen_string_literal: true

# The adapters' names, and what ActiveRecord looks up by them.

require_relative "../../../support/unit"
require "active_record"
require "neverblock"

NeverBlock::DB::ActiveRecord.register # where another file had loaded neverblock before ActiveRecord

class AdaptersTest < Minitest::Test
  NAMES = { "postgresql" => "PostgreSQL", "mysql2" => "Mysql2", "trilogy" => "Trilogy" }.freeze

  NAMES.each do |name, adapter|
    define_method("test_neverblock_#{name} is a subclass of the adapter it is named after") do
      require "active_record/connection_adapters/neverblock_#{name}_adapter"
      found = ActiveRecord::ConnectionAdapters.resolve("neverblock_#{name}")

      assert_equal "ActiveRecord::ConnectionAdapters::Neverblock#{adapter}Adapter", found.name
      assert_equal "ActiveRecord::ConnectionAdapters::#{adapter}Adapter", found.superclass.name
      assert_includes found.ancestors, NeverBlock::DB::ActiveRecord::Guard
    end

    define_method("test_the_scheme_of_a_url is neverblock_#{name} or neverblock-#{name}") do
      %w[_ -].each do |sign|
        found = ActiveRecord::DatabaseConfigurations::UrlConfig.new(
          "test", "primary", "neverblock#{sign}#{name}://me@host:1/shop?pool=12"
        )

        assert_equal ["neverblock_#{name}", "host", "shop", "12"],
                     found.configuration_hash.values_at(:adapter, :host, :database, :pool)
      end
    end
  end

  def test_other_urls_are_as_they_were
    found = ActiveRecord::DatabaseConfigurations::UrlConfig.new(
      "test", "primary", "sqlite3:shop.db"
    )

    assert_equal %w[sqlite3 shop.db], found.configuration_hash.values_at(:adapter, :database)
  end
end
