# frozen_string_literal: true

require "securerandom"
require "socket"

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # TLS, and clients of other services.
  module Networks
    def openssl_password(me, turn)
      keys = @@keys ||= Array.new(2) do |n|
        cipher = OpenSSL::Cipher.new("aes-128-cbc")
        OpenSSL::PKey::EC.generate("prime256v1").to_pem(cipher, "word#{n}")
      end
      2.times.map do |n|
        OpenSSL::PKey.read(keys[n]) { turn.call(me.odd? ? "wrong" : "word#{n}") }.class.name
      rescue OpenSSL::PKey::PKeyError => e
        e.class.name
      end
    end

    # A server and a client in one process, its certificate looked at by a block.
    def openssl_verify(me, turn)
      verified = []
      pair = Socket.pair(:UNIX, :STREAM)
      server = OpenSSL::SSL::SSLSocket.new(pair[0], Networks.server_context)
      accepts = Thread.new { server.accept && server.write("for #{me}\n") rescue nil }
      context = OpenSSL::SSL::SSLContext.new
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER
      context.verify_callback = ->(_ok, store) {
        2.times { turn.call } && (verified << store.error) && me.even?
      }
      client = OpenSSL::SSL::SSLSocket.new(pair[1], context)
      [(client.connect && client.gets rescue $!.class.name), verified]
    ensure
      pair.each(&:close)
      accepts&.join
    end

    def self.server_context
      @server_context ||= OpenSSL::SSL::SSLContext.new.tap do |context|
        key = OpenSSL::PKey::EC.generate("prime256v1")
        certificate = OpenSSL::X509::Certificate.new
        certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=test")
        certificate.public_key = key
        certificate.serial = 1
        certificate.not_before = Time.now - 60
        certificate.not_after = Time.now + 6_000
        certificate.sign(key, OpenSSL::Digest.new("SHA256"))
        context.cert = certificate
        context.key = key
      end
    end

    def typhoeus(me, turn)
      request = Typhoeus::Request.new("#{Networks.service}/#{me}")
      body = +""
      request.on_headers { turn.call }
      request.on_body { |part| (body.empty? ? turn.call : sleep(0.001)) && body << part }
      request.on_complete { turn.call }
      request.run
      [body, request.response.code]
    end

    # With a scheduler curb runs it in another fiber, which does not have the values of
    # Thread.current[] (compat/curb.rb).
    def curb(me, turn)
      seen = []
      easy = Curl::Easy.new("#{Networks.service}/#{me}")
      easy.on_header do |line|
        (seen.empty? ? turn.call : sleep(0.001)) && seen << line.size && line.size
      end
      asked_by = []
      Thread.current[:asks] = me
      easy.on_body do |part|
        (seen.last.is_a?(Integer) ? turn.call : sleep(0.001)) && seen << part &&
          asked_by << Thread.current[:asks] && part.size
      end
      easy.on_progress { |*| sleep(0.0005) || true }
      easy.on_complete { turn.call }
      easy.perform
      [seen.grep(String).join, easy.status, asked_by.uniq]
    end

    def curb_multi(me, turn)
      seen = {}
      multi = Curl::Multi.new
      Array.new(3) do |n|
        easy = Curl::Easy.new("#{Networks.service}/#{me}-#{n}")
        easy.on_body { |part| sleep(0.001) && (seen[n] = "#{seen[n]}#{part}") && part.size }
        easy.on_success { |one| turn.call && seen["done#{n}"] = one.response_code }
        multi.add(easy)
      end
      multi.perform
      seen.sort_by(&:to_s)
    end

    # An HTTP service of threads: four parts.
    def self.service
      @service ||= begin
        socket = TCPServer.new("127.0.0.1", 0)
        Thread.new { loop { Thread.new(socket.accept) { |client| serve(client) } } }
        "http://127.0.0.1:#{socket.addr[1]}"
      end
    end

    def self.serve(client)
      path = client.gets.split[1]
      nil until client.gets == "\r\n"
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.size * 4}\r\n" \
                   "Connection: close\r\n\r\n")
      4.times { client.write(path) && sleep(0.002) }
    ensure
      client.close
    end

    def rdkafka(me, turn)
      producer = Networks.producer
      handles = Array.new(4) do |n|
        producer.produce(topic: "of-#{me}", key: "k", payload: "#{me}-#{n}", label: [me, n])
      end
      handles.map { |handle|
        turn.call && handle.wait(max_wait_timeout: 20).then { |report|
          [report.topic_name, report.label, Networks.delivered.delete(report.label)]
        }
      }
    end

    # Four messages of its own topic, by a consumer of a group that no other had: who comes back to
    # a group waits until the session of the last consumer is over (45 s).
    def rdkafka_consumer(me, turn)
      4.times do |n|
        handle = Networks.producer.produce(topic: "to-#{me}", key: "k", payload: "#{me}-#{n}",
                                           label: [me, n])
        handle.wait(max_wait_timeout: 20)
      end
      consumer = Networks.consumer("group-#{SecureRandom.uuid}")
      consumer.subscribe("to-#{me}")
      taken = []
      while taken.size < 4
        message = consumer.poll(100)
        taken << turn.call([message.topic, message.payload]) if message
      end
      taken
    ensure
      consumer&.close
    end

    # Functions of librdkafka that the gem does not call.
    module MockCluster
      # @return [String] addresses of the cluster of a client with test.mock.num.brokers, whose new
      #   groups do not wait 3 s for more consumers
      def self.addresses(client)
        attach unless respond_to?(:rd_kafka_handle_mock_cluster)
        client.with_inner do |inner|
          cluster = rd_kafka_handle_mock_cluster(inner)
          rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
          rd_kafka_mock_cluster_bootstraps(cluster)
        end
      end

      def self.attach
        extend FFI::Library

        ffi_lib Rdkafka::Bindings.ffi_libraries.map(&:name)
        attach_function :rd_kafka_handle_mock_cluster, [:pointer], :pointer
        attach_function :rd_kafka_mock_cluster_bootstraps, [:pointer], :string
        attach_function :rd_kafka_mock_group_initial_rebalance_delay_ms, %i[pointer int32], :void
      end
    end

    @delivered = {}
    @kafka = Mutex.new

    class << self
      attr_reader :delivered

      # Of the producer's cluster.
      def consumer(group)
        client = producer.instance_variable_get(:@native_kafka)
        addresses = @kafka.synchronize { @addresses ||= MockCluster.addresses(client) }
        Rdkafka::Config.new("bootstrap.servers": addresses, "group.id": group,
                            "auto.offset.reset": "earliest").consumer
      end

      # One for all, with a cluster of librdkafka's own: reports come in a thread of the gem.
      def producer
        @kafka.synchronize do
          Rdkafka::Config.logger = Logger.new($stderr, level: :warn)
          @producer ||= Rdkafka::Config.new("test.mock.num.brokers": 1).producer.tap do |producer|
            producer.delivery_callback = ->(report) {
              sleep(0.0003) && delivered[report.label] = report.partition >= 0
            }
          end
        end
      end
    end
  end
end

# rubocop:enable Style/RescueModifier
