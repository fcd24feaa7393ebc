# frozen_string_literal: true

# Libraries that need a patch. They are searched for whenever a scheduler is made, so after the
# application's libraries were loaded, before or after NeverBlock, and when a library was loaded
# later (late_libraries.rb). docs/COMPATIBILITY.md says what each library does.

require "neverblock/blockers/grpc"
require "neverblock/blockers/images"
require "neverblock/blockers/passwords"
require "neverblock/blockers/rdkafka"
require "neverblock/blockers/zlib"
require "neverblock/compat/active_support"
require "neverblock/compat/async"
require "neverblock/compat/concurrent"
require "neverblock/compat/connection_pool"
require "neverblock/compat/curb"
require "neverblock/compat/debug"
require "neverblock/compat/excon"
require "neverblock/compat/ffi"
require "neverblock/compat/good_job"
require "neverblock/compat/hiredis"
require "neverblock/compat/live"
require "neverblock/compat/lmdb"
require "neverblock/compat/mini_racer"
require "neverblock/compat/net_ftp"
require "neverblock/compat/net_http"
require "neverblock/compat/new_relic"
require "neverblock/compat/nokogiri"
require "neverblock/compat/notifications"
require "neverblock/compat/semian"
require "neverblock/compat/sequel"
require "neverblock/compat/opentelemetry"
require "neverblock/compat/recursive_mutex"
require "neverblock/compat/share_lock"
require "neverblock/compat/streamed_bodies"
require "neverblock/compat/sync"
require "neverblock/compat/thread_names"
require "neverblock/compat/tilt"
require "neverblock/compat/typhoeus"
require "neverblock/compat/vcr"
require "neverblock/compat/wasmtime"
require "neverblock/db/active_record"

module NeverBlock
  module DB
    # Loaded where the driver is.
    autoload :Extralite, "neverblock/db/extralite"
    autoload :Mysql2, "neverblock/db/mysql2"
    autoload :Pg, "neverblock/db/pg"
    autoload :Sqlite3, "neverblock/db/sqlite3"
    autoload :Trilogy, "neverblock/db/trilogy"
  end

  module Compat
    module Libraries
      # Libraries in C that keep state of their thread while they call Ruby
      # (binding/fibers/frames.c).
      HOLDING = %w[Nokogiri FFI Fiddle LibXML Magick MiniRacer Wasmtime].freeze

      # Installs the patches of all libraries that are loaded.
      # @return [void]
      def self.apply
        @applied = true
        Scheduler.watch_frames if HOLDING.any? { |name| Object.const_defined?(name) }
        ActiveSupport.apply
        Async.apply
        Concurrent.apply
        ConnectionPool.apply
        Debug.apply
        Excon.apply
        FFI.apply
        GoodJob.apply
        Hiredis.apply
        NetFTP.apply
        NetHTTP.apply
        Semian.apply
        Sequel.apply
        DB::Extralite.apply if defined?(::Extralite)
        DB::Mysql2.apply if defined?(::Mysql2)
        DB::ActiveRecord.apply
        DB::Pg.apply if defined?(::PG)
        DB::Sqlite3.apply if defined?(::SQLite3)
        DB::Trilogy.apply if defined?(::Trilogy)
        Live.apply
        Lmdb.apply
        MiniRacer.apply
        NewRelic.apply
        Nokogiri.apply
        Notifications.apply
        OpenTelemetry.apply
        RecursiveMutex.apply
        ShareLock.apply
        StreamedBodies.apply
        Sync.apply
        ThreadNames.apply
        Tilt.apply
        Typhoeus.apply
        Curb.apply
        Vcr.apply
        Wasmtime.apply
        Blockers.apply
        Blockers::Zlib.apply
      end

      # @return [Boolean] whether libraries have been searched for
      def self.applied? = @applied || false
    end
  end
end
