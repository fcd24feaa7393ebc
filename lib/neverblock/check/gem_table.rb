# frozen_string_literal: true

# Facts about gems in a process whose requests share a thread. The table of docs/guides/check.md is
# made from it (test/support/guide_tables). A row tells what a version does. Its source is the code
# or test that it names, or docs/COMPATIBILITY.md.

require "neverblock/check/finding"

module NeverBlock
  module Check
    module GemTable
      # name. versions: those it holds for. level: once the application has loaded the gem. kind:
      # see KINDS. seen: follows the gem's name and version. mend. guide.
      Row = Struct.new(:name, :versions, :level, :kind, :seen, :mend, :guide, keyword_init: true) do
        # @param version [Gem::Version]
        # @return [Boolean]
        def for?(version)
          versions.satisfied_by?(version)
        end
      end

      KINDS = {
        wrong: "goes wrong",
        lock: "blocks the whole process",
        wait: "blocks other requests",
        loop: "needs its own event loop",
        hand: "needs care",
        new: "not known yet"
      }.freeze

      def self.row(name, versions, level, kind, seen, mend, guide: "#{GUIDE}#gems")
        Row.new(name: name, versions: Gem::Requirement.new(*versions), level: level, kind: kind,
                seen: seen, mend: mend, guide: guide)
      end
      private_class_method :row

      OFFLOAD = "wrap its calls in NB.offload { }"
      ALONE = "has no current span in a task of NB.all, NB.offload and a FiberPool, as in " \
              "Thread.new"
      CARRY = "NB.carry, with the lines of docs/guides/tracing.md"
      TRACING = "docs/guides/tracing.md"
      YIELDING = "Net::HTTP, http or httpx, which let other requests run"

      WRONG = [
        row("rack-timeout", [">= 0"], :serious, :wrong,
            "ends a request by raising in its thread, which all requests share: another request " \
            "fails, or the server (lib/rack/timeout/core.rb, app_thread.raise)",
            "remove it; use `timeouts { request 20 }` in config/neverblock.rb",
            guide: "docs/guides/cancelling.md"),
        row("request_store", ["= 1.6.0"], :serious, :wrong,
            "has one store for all concurrent requests (steveklabnik/request_store#96)",
            "1.7.0 or newer"),
        row("activerecord", ["< 7.1"], :serious, :wrong,
            "leases connections by thread: concurrent requests get the same one",
            "7.1 or newer", guide: "docs/guides/activerecord.md")
      ].freeze

      # They hold Ruby's lock: no other thread of the process runs meanwhile. A spare executor does
      # not help; workers do.
      LOCK = [
        row("bcrypt", ["< 3.1.18"], :warning, :lock,
            "hashes with Ruby's lock held: nothing else of the process runs for the 200 ms of a " \
            "password (bcrypt-ruby/bcrypt-ruby#260)",
            "3.1.18 or newer"),
        row("scrypt", [">= 0"], :warning, :lock,
            "hashes with Ruby's lock held (lib/scrypt/scrypt_ext.rb, no `blocking: true`)",
            "-w 2 or more; argon2 releases the lock"),
        row("rmagick", ["< 5.1"], :warning, :lock,
            "works on images with Ruby's lock held (rmagick/rmagick#1352)",
            "5.1 or newer"),
        row("mysql", [">= 0"], :warning, :lock,
            "waits for the server with Ruby's lock held",
            "mysql2 or trilogy, or require \"mysqlplus\" of NeverBlock",
            guide: "docs/guides/mysql.md")
      ].freeze

      # They release Ruby's lock and block the thread.
      WAIT = [
        row("hiredis-client", [">= 0"], :warning, :wait,
            "blocks the thread at each wait for Redis (redis/hiredis-rb#77)",
            "remove it: redis-client's own driver lets other requests run; or " \
            "RedisClient.default_driver = :ruby",
            guide: "docs/COMPATIBILITY.md"),
        row("hiredis", [">= 0"], :warning, :wait,
            "blocks the thread at each wait for Redis (redis/hiredis-rb#77)",
            "remove it: the Ruby driver of redis lets other requests run",
            guide: "docs/COMPATIBILITY.md"),
        row("pg", ["< 1.5"], :warning, :wait,
            "is older than the versions NeverBlock supports (1.5 to 1.7); before 1.3 each query " \
            "blocks the thread",
            "1.5 or newer", guide: "docs/guides/postgresql.md"),
        row("mysql2", ["< 0.5.5"], :warning, :wait,
            "is older than the versions NeverBlock patches: it lets other requests run only " \
            "until the first byte of an answer (brianmario/mysql2#1518)",
            "0.5.5 or newer, or trilogy", guide: "docs/guides/mysql.md"),
        row("curb", ["< 1.4"], :warning, :wait,
            "waits in libcurl",
            "1.4 or newer, which waits through Ruby"),
        row("typhoeus", [">= 0"], :warning, :wait,
            "waits in libcurl (ethon): its thread is blocked, and spare executors take the other " \
            "requests",
            "#{YIELDING}; or #{OFFLOAD}"),
        row("patron", [">= 0"], :warning, :wait,
            "waits in libcurl",
            "#{YIELDING}; or #{OFFLOAD}"),
        row("rmagick", [">= 5.1"], :warning, :wait,
            "works on images in C without a pause",
            OFFLOAD),
        row("ffi-rzmq", [">= 0"], :warning, :wait,
            "waits in libzmq: its thread is blocked, and spare executors take the other requests",
            OFFLOAD),
        row("tiny_tds", [">= 0"], :warning, :wait, "waits in FreeTDS", OFFLOAD),
        row("ruby-oci8", [">= 0"], :warning, :wait, "waits in Oracle's client library", OFFLOAD)
      ].freeze

      LOOP = [
        row("eventmachine", [">= 0"], :warning, :loop,
            "has its own event loop, which no server but Thin runs",
            "run EM.run in a thread of its own (`after_fork` with workers), or use a client " \
            "without it"),
        row("async", [">= 0"], :note, :loop,
            "has its own scheduler: without `scheduler :async`, `Async { }` or `Sync { }` in a " \
            "request takes one of NB.offload's threads until its block has ended",
            "`scheduler :async` for an application that is written with it, or plain Ruby inside " \
            "a request (NB.all runs several things together)")
      ].freeze

      # They work as on threads, with one thing to know.
      HAND = [
        row("graphql", [">= 0"], :note, :hand,
            "loads its constants when the first requests need them: on Ruby 3.1 nothing else of " \
            "the process runs meanwhile",
            "GraphQL.eager_load! in config.ru; its railtie does so in production"),
        row("httpx", [">= 0"], :note, :hand,
            "has one connection for each origin in a session with `plugin(:persistent)`: " \
            "requests that share the session wait for each other",
            "a pool of such sessions (connection_pool), or sessions that are not persistent",
            guide: "docs/COMPATIBILITY.md"),
        row("http", [">= 0"], :note, :hand,
            "refuses all further requests of a persistent client whose response was not read to " \
            "its end, as after a deadline (HTTP::StateError)",
            "close such a client in an `ensure`", guide: "docs/COMPATIBILITY.md"),
        row("net-http-persistent", [">= 0"], :note, :hand,
            "gives up after 0.5 s without a free connection of its pool " \
            "(ConnectionPool::TimeoutError); here more requests run at once than threads did",
            "`pool_size:` as many as are needed at once", guide: "docs/COMPATIBILITY.md"),
        row("dalli", [">= 0"], :note, :hand,
            "has a `socket_timeout` without effect on Ruby 3.1, under any server",
            "NB.deadline, or a newer Ruby", guide: "docs/COMPATIBILITY.md"),
        row("trilogy", ["< 2.11"], :note, :hand,
            "looks up a name in C, which keeps its thread meanwhile; a query that a deadline " \
            "cuts goes on in the server",
            "2.11 or newer", guide: "docs/guides/mysql.md"),
        row("lmdb", [">= 0"], :note, :hand,
            "keeps one active transaction for each thread: requests of one executor take turns " \
            "at an environment, each until its transaction's block is over",
            "short transactions; wait in none for another request or a task of NB.all that " \
            "uses the same environment",
            guide: "docs/guides/unchanged.md#lmdb"),
        row("mqtt", [">= 0"], :note, :hand,
            "raises a lost connection into the thread that has connected, which all requests " \
            "share: it meets whichever request runs (lib/mqtt/client.rb, [:parent].raise)",
            "connect in a thread of its own, which hands on what comes by a Queue",
            guide: "docs/guides/unchanged.md#thread-raise"),
        row("datadog", [">= 0"], :note, :hand, ALONE, CARRY, guide: TRACING),
        row("sentry-ruby", [">= 0"], :note, :hand, ALONE, CARRY, guide: TRACING)
      ].freeze

      # Versions that were not tested.
      NEW = [
        row("pg", [">= 1.8"], :note, :new,
            "is newer than the versions NeverBlock was tested with (1.5 to 1.7)",
            "test it under load", guide: "docs/guides/postgresql.md"),
        row("mysql2", [">= 0.6"], :warning, :new,
            "is newer than the versions NeverBlock patches (0.5.5 to 0.5.x), and is left unpatched",
            "0.5.x, or trilogy", guide: "docs/guides/mysql.md"),
        row("sqlite3", ["< 2"], :note, :new,
            "is older than the versions NeverBlock was tested with (2.x)",
            "2.x where ActiveRecord accepts it", guide: "docs/guides/sqlite.md"),
        row("sqlite3", [">= 3"], :note, :new,
            "is newer than the versions NeverBlock was tested with (2.x)",
            "test it under load", guide: "docs/guides/sqlite.md"),
        row("excon", ["> 1.10.0"], :note, :new,
            "is newer than the versions whose sockets NeverBlock patches (up to 1.10)",
            "test it under load", guide: "docs/COMPATIBILITY.md"),
        row("skylight", [">= 0"], :note, :new,
            "was not tested: its installation fetches a native part from its vendor",
            "compare the traces of one action under load with those of a server with threads",
            guide: TRACING),
        row("appsignal", [">= 0"], :note, :new,
            "was not tested: its installation fetches a native part from its vendor",
            "compare the traces of one action under load with those of a server with threads",
            guide: TRACING)
      ].freeze

      ROWS = [*WRONG, *LOCK, *WAIT, *LOOP, *HAND, *NEW].freeze

      # Gems that let other requests run, by themselves or by NeverBlock's patches.
      FINE = %w[
        pg mysql2 trilogy sqlite3 sequel redis redis-client excon i18n debug activerecord bcrypt
        argon2 ruby-vips grpc rdkafka extralite
      ].freeze
    end
  end
end
