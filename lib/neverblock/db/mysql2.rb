# frozen_string_literal: true

# mysql2 lets other fibers run only while it waits for the first byte of a query's result
# (brianmario/mysql2#1518). Here every call that may wait lets them run. A query is sent, the loop
# waits for its answer, and an answer that is complete is read at once. Everything else runs on a
# thread. docs/guides/mysql.md lists the calls. Outside our loop the gem is unchanged. Versions
# 0.5.5 to 0.5.x.

require "neverblock/db/workers"

module NeverBlock
  module DB
    module Mysql2
      VERSIONS = Gem::Requirement.new(">= 0.5.5", "< 0.6")
      LIBRARY = %r{/mysql2/mysql2\.(?:so|bundle)\z}
      private_constant :VERSIONS, :LIBRARY

      # Installs it once, when mysql2 is loaded.
      # @return [void]
      def self.apply
        return if @applied || !defined?(::Mysql2::Result)
        return unless VERSIONS.satisfied_by?(Gem::Version.new(::Mysql2::VERSION))

        @applied = true
        require "neverblock/db/mysql2/client"
        require "neverblock/db/mysql2/statement"
        require "neverblock/db/mysql2/result"
        ::Mysql2::Client.prepend(Client)
        ::Mysql2::Statement.prepend(Statement)
        ::Mysql2::Result.prepend(Result)
        library = $LOADED_FEATURES.find { |path| path.match?(LIBRARY) }
        NeverBlock.mysql_unlock(library) if library
      end
    end
  end
end
