# frozen_string_literal: true

# `adapter: neverblock_trilogy` in database.yml: ActiveRecord's own trilogy adapter, with the pool
# and connections of lib/neverblock/db/active_record.rb.

require "neverblock"
require "active_record/connection_adapters/trilogy_adapter"

NeverBlock::DB::ActiveRecord.apply

module ActiveRecord
  module ConnectionAdapters
    # @see NeverBlock::DB::ActiveRecord
    class NeverblockTrilogyAdapter < TrilogyAdapter
    end
  end

  # How 7.1 finds an adapter's class and makes a connection.
  module ConnectionHandling
    def neverblock_trilogy_adapter_class
      ConnectionAdapters::NeverblockTrilogyAdapter
    end

    def neverblock_trilogy_connection(config)
      neverblock_trilogy_adapter_class.new(config.merge(found_rows: true)) # as trilogy_connection
    end
  end
end
