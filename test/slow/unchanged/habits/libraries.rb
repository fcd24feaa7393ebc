# frozen_string_literal: true

# Ruby's own libraries, with waits where C code or a lock of theirs stands between.

UnchangedHunt.kind :libraries do
  needs <<~'RUBY'
    require "drb"
    require "find"
    require "logger"
    require "observer"
    require "open-uri"
    require "openssl"
    require "pstore"
    require "pty"
    require "singleton"
    require "tmpdir"
    require "yaml"
    require "delegate"
    require "weakref"
    module Hunt
      # What is written comes in pieces.
      def self.dripping(text, bytes)
        IO.pipe do |reader, writer|
          thread = Thread.new do
            text.each_char.each_slice(bytes) { |part| writer << part.join; nap }
            writer.close
          end
          yield(reader).tap { thread.join }
        end
      end

      class Front
        def upcase(text) = Hunt.nap && text.upcase
        def each_of(list) = list.map { |one| yield one }
      end
    end
  RUBY

  habit :yaml_from_pipe, <<~'RUBY'
    text__N__ = { "id" => __T__, "list" => (1..40).to_a }.to_yaml
    out << Hunt.dripping(text__N__, 60) { |reader| YAML.safe_load(reader) }["id"]
  RUBY

  habit :yaml_callbacks, <<~'RUBY', setup: <<~'SETUP'
    out << YAML.unsafe_load(YAML.dump([Yaml__N__.new(__T__)])).first.text <<
      (YAML.load("a: [") rescue $!.class)
  RUBY
    class Yaml__N__
      attr_reader :text
      def initialize(text) = @text = text
      def encode_with(coder) = Hunt.nap && coder["text"] = @text
      def init_with(coder) = Hunt.nap && @text = coder["text"]
    end
  SETUP

  habit :marshal_from_pipe, <<~'RUBY'
    out <<
      Hunt.dripping(Marshal.dump([__T__, (1..99).to_a]), 90) { |reader| Marshal.load(reader) }.first
  RUBY

  habit :json_from_pipe, <<~'RUBY'
    out << Hunt.dripping(JSON.generate([__T__] * 9), 20) { |reader| JSON.load(reader) }.last
  RUBY

  habit :distant_object, <<~'RUBY', setup: <<~'SETUP'
    distant__N__ = DRbObject.new_with_uri(DISTANT__N__.uri)
    out << distant__N__.upcase(__T__)
    __WAIT__
    out << distant__N__.upcase("x#{id}")
  RUBY
    DISTANT__N__ = DRb::DRbServer.new("druby://127.0.0.1:0", Hunt::Front.new)
  SETUP

  habit :pstore, <<~'RUBY', setup: <<~'SETUP'
    STORE__N__.transaction { STORE__N__[id] = __T__; __WAIT__ }
    out << STORE__N__.transaction(true) { STORE__N__[id] }
    out << STORE__N__.transaction { (STORE__N__.transaction { 1 } rescue $!.class) }
  RUBY
    STORE__N__ = PStore.new(File.join(Dir.mktmpdir, "store"), true)
  SETUP

  habit :singleton, <<~'RUBY', setup: <<~'SETUP'
    out << Only__N__.instance.equal?(Only__N__.instance) << __T__
  RUBY
    class Only__N__
      include Singleton
      def initialize = Hunt.nap
    end
  SETUP

  habit :open_uri, <<~'RUBY'
    out << URI.open("http://127.0.0.1:#{Hunt::SERVICE}/#{id}") { |body| __WAIT__; body.read }
  RUBY

  habit :tls, <<~'RUBY', setup: <<~'SETUP'
    server__N__ = TCPServer.new("127.0.0.1", 0)
    thread__N__ = Thread.new do
      OpenSSL::SSL::SSLServer.new(server__N__, Tls__N__::CONTEXT).accept
                             .tap { |client| client.puts(client.gets.upcase) }.close
    end
    context__N__ = OpenSSL::SSL::SSLContext.new
    context__N__.verify_mode = OpenSSL::SSL::VERIFY_NONE
    socket__N__ = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", server__N__.addr[1]),
                                              context__N__)
    socket__N__.connect
    socket__N__.puts(__T__)
    __WAIT__
    out << socket__N__.gets
    socket__N__.sync_close = true
    socket__N__.close
    thread__N__.join
    server__N__.close
  RUBY
    module Tls__N__
      KEY = OpenSSL::PKey::RSA.new(2048)
      CERTIFICATE = OpenSSL::X509::Certificate.new.tap do |made|
        made.subject = made.issuer = OpenSSL::X509::Name.parse("/CN=hunt")
        made.public_key = KEY
        made.serial = 1
        made.not_before = Time.now - 60
        made.not_after = Time.now + 3_600
        made.sign(KEY, "SHA256")
      end
      CONTEXT = OpenSSL::SSL::SSLContext.new
      CONTEXT.add_certificate(CERTIFICATE, KEY)
      CONTEXT.session_id_context = "hunt" # threads that set it at once raise FrozenError
    end
  SETUP

  habit :tls_verification, <<~'RUBY'
    store__N__ = OpenSSL::X509::Store.new
    store__N__.verify_callback = ->(_ok, _context) { __WAIT__; true }
    key__N__ = OpenSSL::PKey::EC.generate("prime256v1")
    out << key__N__.dsa_verify_asn1("digest", key__N__.dsa_sign_asn1("digest")) <<
      OpenSSL::KDF.pbkdf2_hmac("x", salt: "s", iterations: 900, length: 9, hash: "SHA1").sum
  RUBY

  habit :logger, <<~'RUBY', setup: "LOG_LINES__N__ = Queue.new\n"
    lines__N__ = StringIO.new
    log__N__ = Logger.new(
      lines__N__, formatter: ->(level, _, name, text) { __WAIT__; "#{level} #{name} #{text}\n" }
    )
    log__N__.info("prog") { __WAIT__; __T__ }
    log__N__.warn(__T__)
    out << lines__N__.string
  RUBY

  habit :folders, <<~'RUBY'
    Dir.mktmpdir do |folder__N__|
      File.write(File.join(folder__N__, "a"), __T__)
      __WAIT__
      out << Find.find(folder__N__).count << Dir.children(folder__N__) <<
        Dir.glob("*", base: folder__N__) << File.read(File.join(folder__N__, "a"))
    end
  RUBY

  habit :terminal, <<~'RUBY'
    PTY.spawn("echo #{__T__}") do |reader, _writer, pid|
      out << reader.gets.chomp
      Process.wait(pid)
    end
  RUBY

  habit :pipeline, <<~'RUBY'
    out << Open3.pipeline_r("echo #{__T__}", "tr r R") { |reader, _| __WAIT__; reader.read }
  RUBY

  habit :file_digest, <<~'RUBY', setup: "require \"digest\"\n"
    Tempfile.create("hunt") do |file|
      file << (__T__ * 9_000) && file.flush
      out << Digest::SHA256.file(file.path).hexdigest[0, 12]
    end
  RUBY

  habit :udp, <<~'RUBY'
    one__N__ = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
    other__N__ = UDPSocket.new
    other__N__.send(__T__, 0, "127.0.0.1", one__N__.addr[1])
    __WAIT__
    out << one__N__.recvfrom(99).first
    [one__N__, other__N__].each(&:close)
  RUBY

  habit :fifo, <<~'RUBY'
    Dir.mktmpdir do |folder__N__|
      File.mkfifo(path__N__ = File.join(folder__N__, "fifo"))
      thread__N__ = Thread.new { File.write(path__N__, __T__) }
      out << File.read(path__N__)
      thread__N__.join
    end
  RUBY

  habit :required, <<~'RUBY', setup: <<~'SETUP'
    require FEATURE__N__
    out << Hunt::FEATURE__N__ << (require FEATURE__N__)
  RUBY
    FEATURE__N__ = File.join(Dir.mktmpdir, "feature__N__.rb")
    File.write(FEATURE__N__, "Hunt.nap\nmodule Hunt\n  FEATURE__N__ = 1\nend\n")
  SETUP

  habit :autoloaded, <<~'RUBY', setup: <<~'SETUP'
    out << Loaded__N__.made << __T__
  RUBY
    AUTO__N__ = File.join(Dir.mktmpdir, "auto__N__.rb")
    File.write(AUTO__N__, "Hunt.nap\nclass #{name}::Loaded__N__\n  Hunt.nap\n" \
                          "  def self.made = 1\nend\n")
    autoload :Loaded__N__, AUTO__N__
  SETUP

  habit :delegated, <<~'RUBY'
    out << SimpleDelegator.new(__T__).then { |one| __WAIT__; one.upcase } << WeakRef.new([1]).class
  RUBY
end
