# frozen_string_literal: true

require_relative "../support/redis_checks"

# By redis-client, with the driver that is its default or the one named.
module RedisClientCalls
  def connect(host: "127.0.0.1", port: port(:redis), timeout: 10, ssl: false, attempts: 0)
    RedisClient.config(host: host, port: port, timeout: timeout, reconnect_attempts: attempts,
                       ssl: ssl, ssl_params: (ssl ? { ca_file: ca_file } : nil)).new_client
  end

  def call(client, *command)
    client.call(*command)
  end

  def timeout_errors
    [RedisClient::TimeoutError]
  end

  def refused_errors
    [RedisClient::CannotConnectError]
  end

  def dropped_errors
    [RedisClient::ConnectionError]
  end
end

Clients.library("redis-client", Clients::RedisChecks, RedisClientCalls) do
  requires "redis-client"
  needs :redis
  note "its Ruby driver, the default without hiredis-client"

  check(:pool, "1000 fibers through RedisClient's own pool of 50") do
    pool = RedisClient.config(host: "127.0.0.1", port: port(:redis), timeout: 10)
                      .new_pool(size: 50, timeout: 20)
    each_its_own(1000) { |mine| pool.call("ECHO", mine) }.tap { pool.close }
  end
end

Clients.library("hiredis-client", Clients::RedisChecks, RedisClientCalls) do
  requires "redis-client", "hiredis-client"
  needs :redis
  without :by_name, :tls, :cancelled, :deadline, :timed_out # no end reaches what waits in C
  define(:waiters) { [3, 1] }
  sentence :together, "3 BLPOP wait inside at once"
  reason = "it waits in C (rb_thread_fd_select in hiredis_connection.c), which no hook of a " \
           "scheduler reaches; redis/hiredis-rb#77"
  blocks :together, because: reason
  blocks :timeout, because: reason
  note "leave it out under NeverBlock (`RedisClient.default_driver = :ruby`, " \
       "or `driver: :ruby`); the loop says so once when it meets it"

  check(:notice, "NeverBlock says so, once, and how to mend it") do
    told = StringIO.new
    previous = $stderr
    $stderr = told
    NeverBlock::Compat::Hiredis.instance_variable_set(:@told, nil) # earlier checks have met it
    2.times { connect.tap { |client| call(client, "PING") }.close }
    same([NeverBlock::Compat::Hiredis::MESSAGE], told.string.lines(chomp: true))
  ensure
    $stderr = previous
  end

  check(:mended, "with the Ruby driver in its place, 50 BLPOP wait inside at once") do
    RedisClient.default_driver = :ruby
    singleton_class.define_method(:waiters) { [50, 6] }
    pop_together("localhost")
  ensure
    RedisClient.default_driver = :hiredis
  end
end

Clients.library("redis", Clients::RedisChecks) do
  requires "redis"
  needs :redis

  define(:connect) do |host: "127.0.0.1", port: port(:redis), timeout: 10, ssl: false, attempts: 0|
    Redis.new(host: host, port: port, timeout: timeout, reconnect_attempts: attempts, ssl: ssl,
              **(ssl ? { ssl_params: { ca_file: ca_file } } : {}))
  end
  define(:call) { |client, *command| client.call(*command) }
  define(:timeout_errors) { [Redis::TimeoutError] }
  define(:refused_errors) { [Redis::CannotConnectError] }
  define(:dropped_errors) { [Redis::ConnectionError, Redis::CannotConnectError] }

  check(:subscribe, "20 subscriptions wait inside at once, each is sent its own message") do
    ready = Thread::Queue.new
    sender = connect
    Fiber.schedule do
      20.times { ready.pop }.then do
        20.times { |index| sender.publish("channel-#{index}", "message #{index}") }
      end
    end
    fibers(20) do |index|
      got = nil
      client = connect
      client.subscribe("channel-#{index}") do |on|
        on.subscribe { ready << index }
        on.message do |_, message|
          got = message
          client.unsubscribe
        end
      end
      same("message #{index}", got)
    end
    "20 fibers"
  end
end

Clients.library("connection_pool", RedisClientCalls, Clients::Ends) do
  requires "connection_pool", "redis-client"
  needs :redis

  define(:pool) { |size, timeout| ConnectionPool.new(size: size, timeout: timeout) { connect } }

  check(:pool, "1000 fibers, 50 connections to Redis: none shared, none mixed") do
    inside = most = 0
    pool = pool(50, 20)
    each_its_own(1000) do |mine|
      pool.with do |client|
        most = [most, inside += 1].max
        eventually("50 inside") { most == 50 }
        client.call("ECHO", mine).tap { inside -= 1 }
      end
    end
    same(50, most)
    pool.shutdown(&:close)
    "1000 fibers, at most #{most} inside"
  end

  # With Net::HTTP objects in it, which it takes back however its block is left.
  define(:shared) do |&block|
    uri = URI(url("/"))
    pool = ConnectionPool.new(size: 2, timeout: 20) { Net::HTTP.new(uri.host, uri.port).start }
    block.call(->(url) {
      pool.with { |http| http.get(URI(url).path) }.then { |response| [response.body, response] }
    })
  ensure
    pool&.shutdown(&:finish)
  end
  %i[cancelled deadline timeout].each do |way|
    check(:"http_#{way}", "Net::HTTP in it: after a request that was ended (#{way}), " \
                          "each is given its own answer") { share_ended(way) }
  end

  check(:held, "a fiber is given the connection it holds again, another fiber not") do
    pool = pool(2, 5)
    pool.with do |client|
      fibers(1) do
        pool.with { |other| hold(!other.equal?(client), "two fibers had one connection") }
      end
      pool.with { |again| hold(again.equal?(client), "the connection held was not given again") }
    end
    pool.shutdown(&:close)
  end

  check(:timeout, "ConnectionPool::TimeoutError when none comes free, while others go on") do
    pool = pool(1, 0.4)
    pool.with do
      while_ticking do
        fibers(1) { raises(ConnectionPool::TimeoutError) { pool.with { nil } } }.first.class.name
      end
    end
  end
end
