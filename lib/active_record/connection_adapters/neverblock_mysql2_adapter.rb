# frozen_string_literal: true

# `adapter: neverblock_mysql2` in database.yml: ActiveRecord's own mysql2 adapter, with the pool
# and connections of lib/neverblock/db/active_record.rb.

require "neverblock"
require "active_record/connection_adapters/mysql2_adapter"

NeverBlock::DB::ActiveRecord.apply

module ActiveRecord
  module ConnectionAdapters
    # @see NeverBlock::DB::ActiveRecord
    class NeverblockMysql2Adapter < Mysql2Adapter
    end
  end

  # How 7.1 finds an adapter's class and makes a connection.
  module ConnectionHandling
    def neverblock_mysql2_adapter_class
      ConnectionAdapters::NeverblockMysql2Adapter
    end

    def neverblock_mysql2_connection(config)
      neverblock_mysql2_adapter_class.new(config)
    end
  end
end
