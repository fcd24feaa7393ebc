# frozen_string_literal: true

# A killed fiber leaves a transaction's block as a `throw` does, for which ActiveRecord commits. Its
# work is incomplete, so it is rolled back, as ActiveRecord does for killed threads.

module NeverBlock
  module DB
    module ActiveRecord
      # Prepended to ActiveRecord's TransactionManager.
      module Transactions
        # @return [void]
        def self.install
          ::ActiveRecord::ConnectionAdapters::TransactionManager.prepend(self)
        end

        def commit_transaction
          Compat.killed? ? rollback_transaction : super
        end
      end
    end
  end
end
