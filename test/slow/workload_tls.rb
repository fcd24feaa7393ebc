# frozen_string_literal: true

# The workload's exchanges over TLS: bytes of every kind, sessions, certificates of clients, those
# of the server as they are swapped, and handshakes that fail. Under valgrind they cover what the
# binding does with certificates.

require_relative "../support/certificates"
require_relative "../support/tls_client"
require_relative "workload"

module Workload
  # Files of a server's certificates, and the exchanges that need them.
  class Secure
    # Exchanges of the plain workload that TLS changes something for.
    PLAIN = %i[hello stored large spooled uploaded streamed hijacked partial events leaving
               pipelined].freeze
    OWN = %i[both_versions resumed shown shown_by_nobody unknown expired plain other_name
             cut_handshakes swapped broken].freeze
    NAMES = [*PLAIN, *OWN].freeze
    FAILURES = [OpenSSL::SSL::SSLError, SystemCallError, EOFError, NoMethodError].freeze
    VERSIONS = [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].freeze

    def initialize
      @folder = Dir.mktmpdir("workload-tls")
      @authority = Certificates.new
      File.write(path("ca.pem"), @authority.ca_pem)
      write("first.test")
    end

    # @return [Hash] for Process.new
    def env = { "NB_WORKLOAD_TLS" => @folder }

    def remove = FileUtils.rm_rf(@folder)

    # @param server [Process]
    # @raise [RuntimeError] naming the exchange and what was wrong
    def exchange(server, name, rng, deadline_s: 30)
      @server = server
      @limit_s = deadline_s
      return public_send(name) if OWN.include?(name)

      Workload.exchange(server.secure_url, name, rng, deadline_s: deadline_s)
    rescue *FAILURES => e
      raise "#{name} over TLS: #{e.class}: #{e.message}"
    end

    def both_versions
      VERSIONS.each { |version| expect("hello", get(version: version)) }
    end

    def resumed
      VERSIONS.each do |version|
        session = connect(version: version) { |one| one.get("/hello") && one.socket.session }
        connect(version: version, session: session) do |one|
          expect([true, "hello"], [one.socket.session_reused?, one.get("/hello").last])
        end
      end
    end

    def shown
      issued = @authority.issue("alice", intermediate: true)
      3.times { expect("SUCCESS CN=alice /CN=alice", get("/peer", show: issued)) }
    end

    def shown_by_nobody = expect("NONE  ", get("/peer"))
    def unknown = refused { get("/peer", show: Certificates.new.issue("mallory")) }

    def expired
      past = Time.now - 60
      refused { get("/peer", show: @authority.issue("old", till: past, from: past - 60)) }
    end

    def plain
      uri = URI(@server.secure_url)
      TCPSocket.open(uri.host, uri.port) do |socket|
        socket.write("GET / HTTP/1.1\r\n\r\n")
        expect(/\AHTTP\/1.1 400 /, socket.read)
      end
    end

    def other_name = expect("hello", get(name: "nobody.test"))

    # A client leaves after some bytes of its first message.
    def cut_handshakes
      uri = URI(@server.secure_url)
      [0, 1, 5, 6].each do |count|
        TCPSocket.open(uri.host, uri.port) do |socket|
          socket.write("\x16\x03\x01\x02\x00\x01".b.byteslice(0, count))
        end
      end
      refused { get(version: VERSIONS.first, ciphers: "AES128-SHA") }
    end

    # A connection that is there goes on with the old certificate.
    def swapped
      old = TLSClient.new(@server.secure_url)
      old.get("/hello") # the time for a first head would end meanwhile
      name = "new#{@swaps = @swaps.to_i + 1}.test"
      write(name)
      renew { served == name }
      expect("hello", old.get("/hello").last)
      old.close
    end

    # What cannot be used changes nothing, and the next that can is taken.
    def broken
      before = served
      File.write(path("server.key"), "oops")
      renew { @server.log.include?("goes on with its old certificate") }
      expect(before, served)
      swapped
    end

    private

    def path(name) = File.join(@folder, name)

    def write(name) = @authority.issue(name).write(@folder, "server")

    def connect(show: nil, version: nil, ciphers: nil, **options)
      one = TLSClient.new(@server.secure_url, **options) do |context|
        context.max_version = version if version
        context.add_certificate(show.certificate, show.key, show.chain) if show
        context.ciphers = ciphers if ciphers
      end
      yield one
    ensure
      one&.close
    end

    def get(target = "/hello", **options) = connect(**options) { |one| one.get(target).last }

    def served = connect { |one| one.socket.peer_cert.subject.to_a.dig(0, 1) }

    # Has the files read, until the block is true.
    def renew
      limit = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + @limit_s
      ::Process.kill(:HUP, @server.pid)
      until yield
        raise "not renewed" if ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > limit

        sleep 0.05
      end
    end

    def refused
      seen = yield
      raise "it was served: #{seen}"
    rescue *FAILURES
      nil
    end

    def expect(expected, seen) = Exchanges.expect(expected, seen)
  end
end
