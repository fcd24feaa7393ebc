# frozen_string_literal: true

require_relative "../support/library"

# Bunny reads each connection on a thread of its own, outside of the loop. Its callers wait for that
# thread in queues.
Clients.library("bunny") do
  requires "bunny"
  needs :rabbitmq
  note "reads on threads of its own; what waits for them parks"

  define(:session) do |port = port(:rabbitmq), host: "127.0.0.1", **options|
    Bunny.new(host: host, port: port, user: "guest", password: "guest", heartbeat: 0,
              recover_from_connection_close: false, automatically_recover: false,
              connection_timeout: 5, logger: Logger.new(IO::NULL), **options)
  end

  # "gate" in the connection's name is what the relay waits for.
  define(:connect_together) do |host|
    relayed = relay(port(:rabbitmq), 20)
    fibers(20) do |index|
      connection = session(relayed, host: host, connection_name: "gate #{index}").start
      channel = connection.create_channel
      queue = channel.queue("", exclusive: true)
      mine = token
      queue.publish(mine)
      eventually("the message") { (got = queue.pop.last) && same(mine, got) }
      connection.close
    end
    "20 connections"
  end

  check(:together, "20 connections opened at once, by address; each is given its own message") do
    connect_together("127.0.0.1")
  end
  check(:by_name, "20 by the name localhost") { connect_together("localhost") }

  # A plain thread is the other side: it answers when all have asked.
  define(:responder) do |name, count|
    Thread.new do
      connection = session.start
      channel = connection.create_channel
      requests = Thread::Queue.new
      channel.queue(name, auto_delete: false).subscribe do |_, properties, body|
        requests << [properties, body]
      end
      Array.new(count) { requests.pop }.each do |properties, body|
        channel.default_exchange.publish("re #{body}", routing_key: properties.reply_to)
      end
      sleep
    ensure
      connection&.close
    end
  end

  check(:calls, "100 fibers wait for an answer at once, a channel each on one connection") do
    name = "calls-#{token}"
    other = responder(name, 100)
    connection = session.start
    connection.create_channel.queue(name, auto_delete: false)
    each_its_own(100) do |mine|
      channel = connection.create_channel
      answers = Thread::Queue.new
      replies = channel.queue("", exclusive: true)
      replies.subscribe { |_, _, body| answers << body }
      channel.default_exchange.publish(mine, routing_key: name, reply_to: replies.name)
      answers.pop.delete_prefix("re ").tap { channel.close }
    end
  ensure
    connection&.close
    other&.kill
  end

  check(:confirms, "20 fibers x 20 publishes, each confirmed by the broker") do
    connection = session.start
    fibers(20) do
      channel = connection.create_channel
      channel.confirm_select
      queue = channel.queue("", exclusive: true)
      20.times { queue.publish("x") }
      hold(channel.wait_for_confirms, "not confirmed")
      same(20, queue.message_count)
      channel.close
    end
    "400 messages"
  ensure
    connection&.close
  end

  check(:tls, "TLS (a relay's), certificate verified") do
    relayed = relay(port(:rabbitmq), tls: true)
    connection = session(relayed, host: "localhost", tls: true, tls_ca_certificates: [ca_file],
                         verify_peer: true).start
    hold(connection.open?, "not open")
    connection.close
  end

  check(:timeout, "its own timeout, while others go on") do
    stalled = session(port(:stall), read_timeout: 1, connection_timeout: 1,
                                    continuation_timeout: 500)
    while_ticking {
      raises(Timeout::Error, Bunny::Exception, AMQ::Protocol::EmptyResponseError) { stalled.start }
    }.class.name
  end
  check(:refused, "its own error for a closed port") do
    raises(Bunny::TCPConnectionFailed) {
      session(port(:refused), host: "localhost").start
    }.class.name
  end
  check(:dropped, "its own error when the server hangs up") do
    raises(Bunny::Exception, AMQ::Protocol::EmptyResponseError) {
      session(port(:drop)).start
    }.class.name
  end
end
