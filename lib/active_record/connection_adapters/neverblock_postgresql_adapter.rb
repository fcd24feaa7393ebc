# frozen_string_literal: true

# `adapter: neverblock_postgresql` in database.yml: ActiveRecord's own postgresql adapter, with the
# pool and connections of lib/neverblock/db/active_record.rb.

require "neverblock"
require "active_record/connection_adapters/postgresql_adapter"

NeverBlock::DB::ActiveRecord.apply

module ActiveRecord
  module ConnectionAdapters
    # @see NeverBlock::DB::ActiveRecord
    class NeverblockPostgreSQLAdapter < PostgreSQLAdapter
    end
  end

  # How 7.1 finds an adapter's class and makes a connection.
  module ConnectionHandling
    def neverblock_postgresql_adapter_class
      ConnectionAdapters::NeverblockPostgreSQLAdapter
    end

    def neverblock_postgresql_connection(config)
      neverblock_postgresql_adapter_class.new(config)
    end
  end
end
