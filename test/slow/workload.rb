# frozen_string_literal: true

# One application that does a little of everything the binding does, and the exchanges that ask for
# it, each checked by the client. The slow tests run it under GC.stress, under valgrind, and for a
# minute.

require "digest"
require "tempfile"
require_relative "../support/wire"

module Workload
  LARGE = ("0123456789abcdef" * 4096).freeze # 64 KB
  FIELDS = { "content-type" => "text/plain", "x-parts" => "a, b" }.freeze

  # The application.
  class App
    Failure = Class.new(StandardError)

    # A body with everything: parts that park, and a close.
    class Parts
      def initialize(parts, failing: false)
        @parts = parts
        @failing = failing
      end

      def each
        @parts.each_with_index do |part, number|
          sleep(0) if number.even?
          yield part
          raise Failure, "in each" if @failing && number == 1
        end
      end

      def close
        @parts = nil
      end
    end

    # A body with a file.
    class Stored
      def initialize(path) = @path = path
      def to_path = @path
      def each = yield(File.binread(@path))
    end

    # A body that is known whole.
    class Whole
      def initialize(parts) = @parts = parts
      def to_ary = @parts
      def each(&) = @parts.each(&)
      def close; end
    end

    def initialize
      @file = Tempfile.new("workload").tap { |file| file.write(LARGE * 3) && file.flush }
      @finished = 0
      @kept = Queue.new
    end

    ROUTES = %w[hello echo parts failing cut stored large whole nested refused headers finished
                parked env lookup streamed hijacked partial events taken sliced keeping
                letting_go peer enumerated masked ended].freeze

    def call(env)
      name = env["PATH_INFO"].delete_prefix("/")
      ROUTES.include?(name) ? public_send(name, env) : [404, {}, ["nothing here"]]
    end

    def hello(_env) = [200, FIELDS, ["hello"]]

    def echo(env)
      input = env["rack.input"]
      first = input.read(10).to_s
      input.rewind
      [200, { "x-first" => first.unpack1("H*") }, [Digest::MD5.hexdigest(input.read)]]
    end

    def parts(env)
      [200, FIELDS, Parts.new(Array.new(env["QUERY_STRING"].to_i) { |n| "part #{n};" })]
    end

    def failing(_env) = raise(Failure, "in call")
    def cut(_env) = [200, {}, Parts.new(%w[a b c], failing: true)]
    def stored(_env) = [200, {}, Stored.new(@file.path)]
    def large(_env) = [200, {}, Array.new(5) { LARGE }]
    def whole(_env) = [200, {}, Whole.new(%w[a b c])]

    def nested(_env)
      [200, {}, Enumerator.new { |out|
        Fiber.new { (out << "in") && sleep(0.001) && (out << "side") }.resume || sleep(0.01)
      }]
    end

    def refused(_env) = [200, { "x-a" => "b\r\nc: d" }, []]
    def headers(_env) = [200, Array.new(30) { |n| ["x-#{n}", ["v" * n, n.to_s]] }, ["fields"]]

    def finished(env)
      env["rack.response_finished"] << ->(*) { @finished += 1 } <<
        ->(*) { raise Failure, "in finished" }
      [200, {}, [@finished.to_s]]
    end

    def parked(_env)
      Thread.current[:left] = sleep(0.001) && "left"
      [200, {}, [Thread.new { sleep(0.001) && "parked" }.value]]
    end

    def env(env)
      [200, {}, [env.keys.grep(/\AHTTP_X/).sort.map { |key| "#{key}=#{env[key]}" }.join("&")]]
    end

    # Who the client is, by its certificate.
    def peer(env)
      names = env.values_at("SSL_CLIENT_VERIFY", "SSL_CLIENT_S_DN")
      [200, {}, [[*names, env["puma.peercert"]&.subject].join(" ")]]
    end

    def streamed(env)
      [200, FIELDS, lambda do |stream|
        stream << "first " << stream.read.bytesize
        bytes = stream.write(sleep(0.001) && 0, :" ", LARGE)
        stream << bytes
        raise Failure, "in call" if env["QUERY_STRING"] == "failing"

        stream.flush.close
      end]
    end

    def hijacked(env)
      io = env["rack.hijack"].call
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n#{io.read(5)}")
      io.close
    end

    def partial(_env)
      [101, { "upgrade" => "any", "rack.hijack" => ->(io) { io.write(io.read(5)) && io.close } },
       []]
    end

    # For as long as its reader stays.
    def events(_env)
      [200, { "content-type" => "text/event-stream" },
       ->(stream) { loop { (stream << "data: #{"x" * 100}\n\n") && sleep(0.002) } }]
    end

    # A body that is read while it comes (workload_server.rb has the route).
    def taken(env)
      digest = Digest::MD5.new
      while (part = env["rack.input"].read(16_384))
        digest << part
      end
      [200, {}, [digest.hexdigest]]
    end

    # Tasks that compute, once all have begun, until the slice of one has ended.
    def sliced(_env)
      scheduler = Fiber.scheduler
      before = scheduler.preemptions
      [200, {}, NeverBlock.all(*Array.new(3) { |n|
        -> { sleep(0) && computed_until_cut(scheduler, before) && "#{n};" }
      })]
    end

    def computed_until_cut(scheduler, before)
      (1..500).sort_by { |m| (m * 7919) % 10_007 } until scheduler.preemptions > before
      true
    end

    # Enumerators to their end and left half way, one in another, with waits and without.
    def enumerated(_env)
      ended = Enumerator.new { |out| (out << "a") && sleep(0.001) && (out << "b") && "over" }
      half = Enumerator.new { |out| loop { out << ended.next && sleep(0.001) } }
      taken = half.next + half.next
      result = loop { ended.next }
      [200, {}, [taken, result, Array.new(5) { [1, 2].each.tap(&:next).next }.sum.to_s]]
    end

    # A limit passes in a mask that computes and in one that waits: it is raised at their end.
    def masked(_env)
      [200, {}, [true, false].map { |waits| limited { passed_in_a_mask(waits) } }]
    end

    def passed_in_a_mask(waits)
      Thread.handle_interrupt(NeverBlock::Cancelled => :never, Timeout::ExitException => :never) do
        over = monotonic_s + 0.02
        sleep(0.001) if waits
        nil until monotonic_s > over
      end
      "not raised;"
    end

    def monotonic_s = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

    def limited(&)
      Timeout.timeout(0.005, Failure, &)
    rescue Failure
      "raised;"
    end

    # A task is ended where it computes, in the middle of an answer: its socket is cut.
    def ended(_env)
      listening = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", listening.local_address.ip_port)
      server = listening.accept
      server.write("one\ntwo\n")
      NeverBlock.all(-> { sleep(0.01) && raise(Failure, "in a task") },
                     -> { client.gets && loop { (1..500).sort_by { |m| -m } } })
    rescue Failure
      [200, {}, [client.read_nonblock(10, exception: false).inspect]]
    ensure
      [listening, client, server].each(&:close)
    end

    # Keeps its thread until another request, which is a spare's, has let it go.
    def keeping(_env) = [200, {}, [NeverBlock::Compat.blocking { @kept.pop }]]
    def letting_go(_env) = [200, {}, [@kept.push("kept") && "let go"]]

    def lookup(_env) = [200, {}, [Addrinfo.tcp("localhost", 80).ip_address]]
  end

  # The exchanges. Each gets a new client and a random generator, and raises when the answer is
  # wrong.
  module Exchanges
    module_function

    def expect(expected, seen)
      unless expected === seen
        raise "expected #{expected.inspect[0, 200]}, seen #{seen.inspect[0, 200]}"
      end
    end

    def get(wire, target, *fields, status: 200)
      wire.get(target, *fields)
      response = wire.response
      expect(status, response.status)
      response.body
    end

    def hello(wire, _rng) = expect("hello", get(wire, "/hello"))
    def missing(wire, _rng) = expect("nothing here", get(wire, "/none", status: 404))
    def parts(wire, _rng) = expect(Array.new(20) { |n| "part #{n};" }.join, get(wire, "/parts?20"))
    def no_parts(wire, _rng) = expect("", get(wire, "/parts?0"))
    def failing(wire, _rng) = get(wire, "/failing", status: 500)
    def refused(wire, _rng) = get(wire, "/refused", status: 500)
    def stored(wire, _rng) = expect(LARGE * 3, get(wire, "/stored"))
    def large(wire, _rng) = expect(LARGE * 5, get(wire, "/large"))
    def whole(wire, _rng) = expect("abc", get(wire, "/whole"))
    def nested(wire, _rng) = expect("inside", get(wire, "/nested"))
    def headers(wire, _rng) = expect("fields", get(wire, "/headers"))
    def finished(wire, _rng) = expect(/\A\d+\z/, get(wire, "/finished"))
    def parked(wire, _rng) = expect("parked", get(wire, "/parked"))
    def lookup(wire, _rng) = expect(/127\.0\.0\.1|::1/, get(wire, "/lookup"))
    def sliced(wire, _rng) = expect("0;1;2;", get(wire, "/sliced"))
    def enumerated(wire, _rng) = expect("abover10", get(wire, "/enumerated"))
    def masked(wire, _rng) = expect("raised;raised;", get(wire, "/masked"))
    def ended(wire, _rng) = expect("nil", get(wire, "/ended"))
    def small(wire, rng) = post(wire, rng.bytes(rng.rand(1..2000)))
    def spooled(wire, rng) = post(wire, rng.bytes(70_000 + rng.rand(30_000)))

    def env(wire, rng)
      number = rng.rand(1000).to_s
      expect("HTTP_X_A=#{number}&HTTP_X_B=1, 2",
             get(wire, "/env", "X-A: #{number}", "X-B: 1", "x-b: 2"))
    end

    def cut(wire, _rng)
      wire.get("/cut")
      expect(true, wire.response_as_far_as_it_comes.cut?)
    end

    def head(wire, _rng)
      %w[hello parts?3 stored large].each do |name|
        wire.write("HEAD /#{name} HTTP/1.1\r\nHost: test\r\n\r\n")
        expect(200, wire.response(method: "HEAD").status)
      end
    end

    def pipelined(wire, _rng)
      names = %w[hello parts?2 whole none hello]
      wire.write(names.map { |name| "GET /#{name} HTTP/1.1\r\nHost: test\r\n\r\n" }.join)
      expect(["hello", "part 0;part 1;", "abc", "nothing here", "hello"],
             Array.new(5) { wire.response.body })
    end

    def chunked(wire, rng)
      bytes = rng.bytes(3000)
      wire.write("POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" \
                 "3e8\r\n#{bytes[0, 1000]}\r\n7d0\r\n#{bytes[1000..]}\r\n0\r\n\r\n")
      expect(Digest::MD5.hexdigest(bytes), wire.response(method: "POST").body)
    end

    def streamed(wire, rng)
      bytes = rng.bytes(2000)
      wire.write("POST /streamed HTTP/1.1\r\nHost: test\r\nContent-Length: 2000\r\n\r\n#{bytes}")
      expect(/\Afirst 20000 #{LARGE}65538\z/o, wire.response(method: "POST").body)
      wire.get("/streamed?failing")
      expect(true, wire.response_as_far_as_it_comes.cut?)
    end

    def hijacked(wire, _rng)
      wire.write("GET /hijacked HTTP/1.1\r\nHost: test\r\n" \
                 "Connection: upgrade\r\nUpgrade: any\r\n\r\nmine!")
      expect("mine!", wire.response.body)
    end

    def partial(wire, _rng)
      wire.write("GET /partial HTTP/1.1\r\nHost: test\r\n" \
                 "Connection: upgrade\r\nUpgrade: any\r\n\r\nmi")
      wire.await_bytes("\r\n\r\n")
      wire.write("ne!")
      expect(/\AHTTP\/1.1 101 .*\r\n\r\nmine!\z/m, wire.take_to_end.first)
    end

    def kept(wire, rng) = rng.rand(5..30).times { hello(wire, rng) }

    def uploaded(wire, rng)
      bytes = rng.bytes(100_000 + rng.rand(200_000))
      wire.write("POST /taken HTTP/1.1\r\nHost: test\r\n" \
                 "Content-Length: #{bytes.bytesize}\r\n\r\n#{bytes}")
      expect(Digest::MD5.hexdigest(bytes), wire.response(method: "POST").body)
    end

    # A reader of events leaves after some.
    def events(wire, rng)
      wire.get("/events")
      wire.await_bytes("data: xxx")
      wire.take(rng.rand(2_000))
      rng.rand(2).zero? ? wire.abort : wire.close
    end

    # Answered only when another client is answered meanwhile.
    def keeping(wire, _rng)
      wire.get("/keeping")
      Wire::Client.open("http://127.0.0.1:#{wire.socket.remote_address.ip_port}") do |other|
        expect("let go", get(other, "/letting_go"))
      end
      expect("kept", wire.response.body)
    end

    # Another in the middle of an upload that is being read.
    def half_uploaded(wire, _rng)
      wire.write("POST /taken HTTP/1.1\r\nHost: test\r\n" \
                 "Content-Length: 900000\r\n\r\n#{"x" * 300_000}")
      wire.abort
    end

    # A client that leaves a stream, or a socket that was hijacked.
    def deserting(wire, rng)
      wire.get(rng.rand(2).zero? ? "/streamed" : "/hijacked")
      rng.rand(2).zero? ? wire.abort : wire.close
    end

    # Clients that leave: before the answer, in the middle of it, in the middle of a body.
    def leaving(wire, rng)
      rng.rand(2).zero? ? wire.get("/large") && wire.take(1000) : wire.get("/parked")
      wire.abort
    end

    def half(wire, _rng)
      wire.write("POST /echo HTTP/1.1\r\nHost: test\r\n" \
                 "Content-Length: 90000\r\n\r\n#{"x" * 70_000}")
      wire.close
    end

    def wrong(wire, _rng)
      wire.write("GET /hello HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n")
      expect(400, wire.response.status)
    end

    def post(wire, bytes)
      wire.write("POST /echo HTTP/1.1\r\nHost: test\r\n" \
                 "Content-Length: #{bytes.bytesize}\r\n\r\n#{bytes}")
      response = wire.response(method: "POST")
      expect([200, bytes[0, 10].unpack1("H*"), Digest::MD5.hexdigest(bytes)],
             [response.status, response["x-first"], response.body])
    end
  end

  NAMES = %i[hello missing parts no_parts failing refused stored large whole nested headers finished
             parked lookup small spooled env cut head pipelined chunked leaving half
             wrong streamed hijacked partial deserting kept uploaded events half_uploaded sliced
             keeping enumerated masked ended].freeze

  # Runs one exchange on a connection of its own.
  # @raise [RuntimeError] naming the exchange and what was wrong
  def self.exchange(url, name, rng, deadline_s: 30)
    Wire::Client.open(url, deadline_s: deadline_s) { |wire| Exchanges.public_send(name, wire, rng) }
  rescue StandardError => e
    raise "#{name}: #{e.class}: #{e.message}"
  end

  # The workload's server as a process.
  class Process
    attr_reader :url, :pid, :out
    # @return [String, nil] the https address, with NB_WORKLOAD_TLS
    attr_reader :secure_url

    # @param command [Array<String>] what runs Ruby, such as valgrind; empty: Ruby
    # @param env [Hash] NB_WORKLOAD_*, see workload_server.rb
    def initialize(command: [], env: {}, start_s: 30)
      @log = Tempfile.new("workload-log")
      @stdin = nil
      reader, out = IO.pipe
      server_stdin, @stdin = IO.pipe
      @pid = ::Process.spawn(env, *command, RbConfig.ruby, "--disable-yjit",
                             File.expand_path("workload_server.rb", __dir__),
                             in: server_stdin, out: out, err: @log.path)
      [server_stdin, out].each(&:close)
      @reader = reader
      @url = Timeout.timeout(start_s) { reader.gets&.chomp } or
        raise "the server did not start: #{log}"
      @secure_url = reader.gets&.chomp if env["NB_WORKLOAD_TLS"]
    end

    def log = File.read(@log.path)
    def rss_kb = File.read("/proc/#{pid}/status")[/VmRSS:\s*(\d+)/, 1].to_i
    def descriptors = Dir.children("/proc/#{pid}/fd").size

    # Asks it to drain and waits for its end.
    # @return [Process::Status]
    def stop(seconds: 60)
      @stdin.close
      Timeout.timeout(seconds) { ::Process.wait2(pid).last }
    rescue Timeout::Error
      ::Process.kill(:KILL, pid)
      ::Process.wait2(pid).last
    end
  end
end

require "rbconfig"
require "timeout"
