# frozen_string_literal: true

require_relative "../support/ends"
require_relative "../support/library"

Clients.library("dalli", Clients::Ends) do
  requires "dalli", "connection_pool"
  needs :memcached

  define(:connect) do |port = port(:memcached), host: "127.0.0.1", **options|
    Dalli::Client.new("#{host}:#{port}", protocol: :meta, socket_timeout: 10, namespace: nil,
                                         **options)
  end

  # One client in one fiber: set and get through a relay that lets nothing pass until every fiber
  # has asked.
  define(:together) do |host|
    setter = connect
    tokens = Array.new(50) { |index| "gate-#{index}-#{token}" }
    tokens.each { |mine| setter.set(mine, mine) }
    relayed = relay(port(:memcached), tokens.size)
    fibers(tokens.size) do |index|
      client = connect(relayed, host: host)
      same(tokens[index], client.get(tokens[index]))
      client.close
    end
    "#{tokens.size} fibers"
  end

  check(:together, "50 gets inside at once, by address") { together("127.0.0.1") }
  check(:by_name, "50 by the name localhost") { together("localhost") }

  check(:tls, "10 with TLS (a relay's), certificate verified") do
    relayed = relay(port(:memcached), tls: true)
    context = OpenSSL::SSL::SSLContext.new.tap { |it| it.set_params(ca_file: ca_file) }
    each_its_own(10) do |mine|
      client = connect(relayed, host: "localhost", ssl_context: context)
      client.set("tls-#{mine}", mine)
      client.get("tls-#{mine}").tap { client.close }
    end
  end

  check(:shared, "20 fibers x 50 on one client object, none mixed") do
    client = connect
    fibers(20) do |index|
      50.times do |round|
        mine = "#{index}-#{round}-#{token}"
        client.set("key-#{index}", mine)
        same(mine, client.get("key-#{index}"))
      end
    end
    client.close
    "1000 pairs"
  end

  check(:pool, "1000 fibers through connection_pool of 50") do
    pool = ConnectionPool.new(size: 50, timeout: 20) { connect }
    each_its_own(1000) do |mine|
      pool.with do |client|
        client.set(mine, mine)
        client.get(mine)
      end
    end.tap { pool.shutdown(&:close) }
  end

  # A get waits in the relay for a second one, behind which its answer comes all the same.
  define(:get_ended) do |way|
    setter = connect
    others, mine = Array.new(2) do |index|
      "gate-#{index}-#{token}".tap { |key| setter.set(key, key) }
    end
    relayed = relay(port(:memcached), 2)
    client = connect(relayed)
    client.get("key-#{token}")
    end_work(way, -> { sleep(Clients::Ends::LIMIT_S) && nil }) { client.get(others) }
    same(mine, connect(relayed).get(mine))
    3.times { same(mine, client.get(mine)) }
    "by #{way}"
  end
  check(:cancelled, "after a get that NB.all has cancelled, each is given its own answer") do
    get_ended(:cancelled)
  end
  check(:deadline, "after one that NB.deadline has ended") { get_ended(:deadline) }
  check(:timed_out, "after one that Timeout.timeout has ended") { get_ended(:timeout) }

  define(:errors) { [Dalli::RingError, Dalli::NetworkError] }

  if RUBY_VERSION < "3.2"
    # There socket_timeout is SO_RCVTIMEO, which Ruby's non-blocking sockets ignore. So it waits for
    # ever without a scheduler too.
    note "on Ruby 3.1 its `socket_timeout` has no effect with any or no scheduler; " \
         "`NB.deadline` has"
    check(:timeout, "NB.deadline ends a get, while others go on") do
      while_ticking {
        raises(NB::DeadlineExceeded) { NB.deadline(0.4) { connect(port(:stall)).get("a") } }
      }.class.name
    end
  else
    check(:timeout, "its own timeout, while others go on") do
      while_ticking {
        raises(*errors) { connect(port(:stall), socket_timeout: 0.4).get("a") }
      }.class.name
    end
  end
  check(:refused, "its own error for a closed port") do
    raises(*errors) { connect(port(:refused), host: "localhost").get("a") }.class.name
  end
  check(:dropped, "its own error when the server hangs up") do
    raises(*errors) { connect(port(:drop)).get("a") }.class.name
  end
end
