# frozen_string_literal: true

# Libraries that need something of us, when they are loaded: looked at whenever a scheduler is made, so after an application's libraries have been loaded,
# before or after NeverBlock. One that is first loaded inside the loop is only seen by the next scheduler. What each library does is in docs/COMPATIBILITY.md.

require "neverblock/compat/active_support"
require "neverblock/compat/excon"
require "neverblock/compat/hiredis"
require "neverblock/compat/i18n"
require "neverblock/compat/live"
require "neverblock/compat/sequel"
require "neverblock/compat/share_lock"
require "neverblock/compat/streamed_bodies"
require "neverblock/db/active_record"
require "neverblock/db/mysql2"
require "neverblock/db/pg"
require "neverblock/db/sqlite3"

module NeverBlock
  module Compat
    module Libraries
      # @return [void]
      def self.apply
        ActiveSupport.apply
        Excon.apply
        Hiredis.apply
        I18n.apply
        Sequel.apply
        DB::Mysql2.apply
        DB::ActiveRecord.apply
        DB::Pg.apply
        DB::Sqlite3.apply
        Live.apply
        ShareLock.apply
        StreamedBodies.apply
      end
    end
  end
end
