# frozen_string_literal: true

# An application with a pool of each kind, each of one place. A path holds that place until the test
# lets it go, and the admin address says what the pool is like meanwhile.

require_relative "fibers_case"
require_relative "services"

class PoolsCase < FibersCase
  # Path, which is mostly the pool's kind => what holds its place.
  HOLDS = {
    "neverblock" => "OWN.hold { gate(tag).pop }",
    "connection_pool" => "CLIENTS.with { gate(tag).pop }",
    "sequel" => "SHOP.synchronize { |connection| connection.exec(%q(select 1)); gate(tag).pop }",
    "active_record" => "ActiveRecord::Base.connection_pool.with_connection do |connection| " \
                       "connection.select_value(%q(select 1)); gate(tag).pop; end",
    "fibers" => "done = Thread::Queue.new; FIBERS.spawn { gate(tag).pop; done << 1 }; done.pop",
    "child" => "OWN.hold { system(\"cat\", fifo(tag), out: File::NULL) }",
    "c_call" => "HOLDS_LOCK.call(File.open(fifo(tag), File::RDWR).fileno, +\" \", 1)"
  }.freeze

  class << self
    def app
      cases = HOLDS.map { |kind, code| "  when \"#{kind}\"\n    #{code}" }.join("\n")
      <<~RACKUP
        require "active_record"
        require "connection_pool"
        require "fiddle"
        require "sequel"
        OWN = NB::Pool::FiberedConnectionPool.new(size: 1) { Object.new }
        CLIENTS = ConnectionPool.new(size: 1, timeout: #{Patience::SECONDS}) { Object.new }
        FIBERS = NB::FiberPool.new(1)
        SHOP = Sequel.connect(ENV.fetch("DATABASE_URL"), name: "shop", max_connections: 1,
                              pool_timeout: #{Patience::SECONDS})
        ActiveRecord::Base.establish_connection(
          adapter: "sqlite3", database: "#{directory}/orders.sqlite3", pool: 1,
          checkout_timeout: #{Patience::SECONDS}
        )
        GATES = Hash.new { |gates, tag| gates[tag] = Thread::Queue.new }
        words = [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG], Fiddle::TYPE_LONG
        HOLDS_LOCK = Fiddle::Function.new(Fiddle::Handle::DEFAULT["read"], *words, need_gvl: true)
        def gate(tag) = GATES[tag]
        def fifo(tag) = File.join("#{directory}", tag)
        run ->(env) {
          _, kind, tag = env["PATH_INFO"].split("/")
          case kind
          when "release"
            GATES[tag] << :go
        #{cases}
          end
          [200, {}, ["done"]]
        }
      RACKUP
    end

    def server_options
      { **super, env: { "DATABASE_URL" => Services.postgresql.url } }
    end
  end

  private

  # Requests that hold the pool's place and wait for it, in that order, while the block runs.
  def queued(kind, waiters, tags = Array.new(waiters + 1) { new_tag }, &block)
    release = -> { tags.each { |tag| ask("/release/#{tag}") } }
    nested(kind, tags, release, 0, &block)
  end

  def nested(kind, tags, release, at, &block)
    return yield if at == tags.size

    go = -> { release.call if at + 1 == tags.size || $! }
    under_way(kind, tags[at], release: go) do
      await_pool(kind) { |pool| pool["in_use"] == 1 && pool["waiting"] == at }
      nested(kind, tags, release, at + 1, &block)
    end
  end

  def pools
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json"))).fetch("pools")
  end

  # @return [Hash] the pool of this kind, once the block holds for it
  def await_pool(kind, worker: nil)
    found = nil
    Patience.await("the pool of #{kind} is so", -> { found }) do
      found = pools.find { |pool| pool["kind"] == kind && [nil, pool["worker"]].include?(worker) }
      found && yield(found)
    end
    found
  end
end
