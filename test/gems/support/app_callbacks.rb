# frozen_string_literal: true

# Gems in C that call Ruby in the middle of their work, each by a method of GemCallbacks. Each call
# goes through a turn, which computes past a time slice and waits. For every third request it
# raises.
# GET /NAME?me=N is answered by the method NAME. As a program it prints the answers of all methods
# on plain threads, one after the other:
#
#   ruby app_callbacks.rb ASKERS NAME...

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

require "json"
require "socket"
require "stringio"

class GemCallbacks
  class Failed < StandardError; end

  # What a callback does, of one request.
  class Turn
    attr_reader :count

    def initialize(me)
      @me = me
      @count = 0
    end

    # @return what it was given
    def call(value = true)
      @count += 1
      compute if @count == 2
      sleep(0.0004 * ((@me * 7 % 5) + 1))
      raise Failed, "of #{@me} in turn #{@count}" if @me % 3 == 2 && @count == 3

      value
    end

    private

    # Longer than a slice of 2 ms.
    def compute
      ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.004
      nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > ends
    end
  end

  # An IO that gives little at a time.
  class Drops
    def initialize(text, turn, size)
      @io = StringIO.new(text)
      @turn = turn
      @size = size
    end

    def read(size = nil, buffer = nil)
      return @io.read if size.nil?

      @turn.call
      buffer ? @io.read([size, @size].min, buffer) : @io.read([size, @size].min)
    end

    def readpartial(size, *buffer) = read(size, *buffer) || raise(EOFError)
    def close = nil
  end

  # What is required for the methods whose names begin so; for others their own name.
  LIBRARIES = { "json" => "json", "libxml" => "libxml-ruby", "miniracer" => "mini_racer",
                "mysql" => "mysql2", "protobuf" => "google/protobuf", "racc" => "nokogiri",
                "rubyprof" => "ruby-prof", "sqlite" => "sqlite3", "vips" => "ruby-vips" }.freeze

  class << self
    # @return what it answers, with what it raised
    def answer(name, me)
      library = name[/\A[a-z]+/]
      require LIBRARIES.fetch(library, library)
      turn = Turn.new(me)
      [begin
        new.public_send(name, me, turn)
      rescue StandardError => e
        "#{e.class}: #{e.message}"
      end, turn.count]
    rescue LoadError => e
      [{ "missing" => e.message }, 0]
    end
  end

  def call(env)
    me = Integer(env["QUERY_STRING"][/me=(\d+)/, 1])
    name = env["PATH_INFO"].delete_prefix("/")
    [200, {}, [JSON.generate(name == "hog" ? hog : self.class.answer(name, me))]]
  end

  def hog
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
    "hog"
  end

  # --- Documents ---

  def nokogiri_sax(me, turn)
    seen = []
    document = Class.new(Nokogiri::XML::SAX::Document) do
      define_method(:start_element) { |name, *| turn.call && seen << name }
      define_method(:error) { |text| seen << text }
    end
    Nokogiri::XML::SAX::Parser.new(document.new).parse(xml(me))
    seen
  end

  def nokogiri_reader(me, turn)
    Nokogiri::XML::Reader(Drops.new(xml(me), turn, 40)).map(&:name)
  end

  def nokogiri_enumerator(me, turn)
    parts = Enumerator.new do |out|
      xml(me, 400).scan(/.{1,400}/m) { |part| turn.call && out << part }
    end
    io = Object.new
    io.define_singleton_method(:read) do |*|
      parts.next
    rescue StopIteration
      nil
    end
    io.define_singleton_method(:close) { nil }
    Nokogiri::XML(io).then { |document| [document.xpath("//*").size, document.errors.map(&:to_s)] }
  end

  # libxslt keeps the classes for the whole process. They are registered once, and an argument names
  # the request.
  class Functions
    def self.turns = @turns ||= {}
    def slowly(me, text) = Functions.turns.fetch(Integer(me)).call("#{text}-#{me}")
  end

  def nokogiri_xslt(me, turn)
    Functions.turns[me] = turn
    @@registered ||= Nokogiri::XSLT.register("urn:slow", Functions) || true
    sheet = Nokogiri::XSLT(<<~XML)
      <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                      xmlns:s="urn:slow" extension-element-prefixes="s">
        <xsl:template match="/">
          <out>
            <xsl:for-each select="//b">
              <c><xsl:value-of select="s:slowly('#{me}', string(.))"/></c>
            </xsl:for-each>
          </out>
        </xsl:template>
      </xsl:stylesheet>
    XML
    sheet.transform(Nokogiri::XML("<a><b>1</b><b>2</b><b>3</b><b>4</b></a>")).xpath("//c")
         .map(&:text)
  end

  # Neither calls Ruby but for what is read: errors of each are its own.
  def nokogiri_schema(me, turn)
    schema = Nokogiri::XML::Schema(Drops.new(<<~XML, turn, 80))
      <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
        <xs:element name="a#{me}" type="xs:integer"/>
      </xs:schema>
    XML
    [schema.validate(Nokogiri::XML("<a#{me}>#{me.odd? ? "x" : 1}</a#{me}>")).map(&:message),
     Nokogiri::XML(xml(me)).errors.map(&:to_s)]
  end

  def nokogiri_html5(me, turn)
    document = Nokogiri::HTML5(Drops.new("<p>#{me}<b></i>" * (me + 1), turn, 20), max_errors: 10)
    [document.css("p").size, document.errors.map(&:to_s)]
  end

  def libxml_sax(me, turn)
    seen = []
    handler = Class.new do
      include LibXML::XML::SaxParser::Callbacks

      define_method(:on_start_element) { |name, *| turn.call && seen << name }
      define_method(:on_error) { |error| seen << error.to_s }
    end
    LibXML::XML::Error.set_handler(&LibXML::XML::Error::QUIET_HANDLER)
    parser = LibXML::XML::SaxParser.io(StringIO.new(xml(me)))
    parser.callbacks = handler.new
    parser.parse rescue seen << $!.message
    seen
  end

  def libxml_reader(me, turn)
    LibXML::XML::Error.set_handler(&LibXML::XML::Error::QUIET_HANDLER)
    reader = LibXML::XML::Reader.io(Drops.new(xml(me), turn, 40))
    names = []
    names << reader.name while reader.read
    names
  end

  def ox(me, turn)
    handler = Class.new(Ox::Sax) do
      attr_reader :seen

      define_method(:start_element) { |name| turn.call && (@seen ||= []) << name }
      define_method(:error) { |message, line, column| @seen << [message, line, column] }
    end.new
    Ox.sax_parse(handler, StringIO.new(xml(me)))
    handler.seen
  end

  # --- JSON and its like ---

  def oj(me, turn)
    handler = Class.new(Oj::ScHandler) do
      define_method(:hash_start) { {} }
      define_method(:hash_set) { |hash, key, value| turn.call && hash[key] = value }
      define_method(:array_start) { [] }
      define_method(:array_append) { |array, value| array << value }
      define_method(:add) { |value, _key| @all = value }
    end
    Oj.sc_parse(handler.new, Drops.new(json(me), turn, 30)).to_a
  end

  def oj_dump(me, turn)
    slow = Class.new { define_method(:to_hash) { turn.call({ "of" => me }) } }
    Oj.dump(Array.new(5) { slow.new }, mode: :custom, use_to_hash: true)
  end

  def oj_generate(me, turn)
    slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
    Oj.dump({ "a" => Array.new(5) { slow.new }, "me" => me }, mode: :compat, use_to_json: true)
  end

  def yajl(me, turn)
    all = []
    parser = Yajl::Parser.new
    parser.on_parse_complete = ->(value) { turn.call && all << value }
    parser.parse(StringIO.new(Array.new(5) { |n| "{\"#{n}\":#{me}}" }.join("\n")))
    all << (Yajl::Parser.parse("[#{me},") rescue $!.message[/\A.*/])
  end

  def yajl_encode(me, turn)
    slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
    Yajl::Encoder.encode({ "a" => Array.new(5) { slow.new }, "me" => me })
  end

  def json_dump(me, turn)
    slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
    JSON.generate({ "a" => Array.new(5) { slow.new }, "me" => me })
  end

  def msgpack(me, turn)
    type = Struct.new(:number)
    factory = MessagePack::Factory.new
    factory.register_type(1, type, packer: ->(one) { turn.call([one.number].pack("N")) },
                          unpacker: ->(text) { turn.call(type.new(text.unpack1("N"))) })
    factory.load(factory.dump(Array.new(4) { |n| type.new((n * 100) + me) })).map(&:number)
  end

  def protobuf(me, turn)
    numbers = Google::Protobuf::RepeatedField.new(:int32, [me, 2, 3, 4])
    map = Google::Protobuf::Map.new(:string, :int32, { "a" => me, "b" => 2 })
    seen = []
    numbers.each { |number| turn.call && seen << number }
    map.each { |key, value| turn.call && seen << [key, value] }
    seen.sort_by(&:to_s) + [(numbers.push("x") rescue $!.class.name)]
  end

  # --- Parsers and markup ---

  def racc(me, turn)
    parser = Class.new(Nokogiri::CSS::Parser) do
      define_method(:next_token) { turn.call && super() }
    end
    parser.new.parse("a#{me} > b.c#{me}, d").map(&:to_type)
  end

  def redcarpet(me, turn)
    page = Class.new(Redcarpet::Render::HTML) do
      define_method(:link) { |link, _title, content| turn.call("[#{content}|#{link}]") }
    end
    Redcarpet::Markdown.new(page.new, tables: true).render(
      "# #{me}\n\n#{Array.new(5) { |n| "* [a *#{n}*](/#{me})" }.join("\n")}\n"
    )
  end

  def miniracer(me, turn)
    context = MiniRacer::Context.new
    context.attach("slowly", ->(number, *) { turn.call(number * me) })
    [context.eval("[1, 2, 3, 4].map(slowly)"),
     (context.eval("throw new Error('#{me}')") rescue $!.message)]
  ensure
    context&.dispose
  end

  # --- Numbers and texts ---

  # Modes and limit are the fiber's.
  def bigdecimal_modes(me, turn)
    BigDecimal.save_rounding_mode do
      BigDecimal.save_limit do
        modes = [BigDecimal::ROUND_UP, BigDecimal::ROUND_DOWN, BigDecimal::ROUND_HALF_EVEN]
        BigDecimal.mode(BigDecimal::ROUND_MODE, modes[me % 3])
        BigDecimal.limit(3 + (me % 5))
        Array.new(5) do |n|
          turn.call && [(BigDecimal(me + 2) / (n + 7)).to_s, BigDecimal("#{n}.125").round(2).to_s,
                        BigDecimal.limit]
        end
      end
    end
  end

  def bigdecimal_coerce(me, turn)
    slow = Class.new { define_method(:coerce) { |other| [other, turn.call(BigDecimal(me))] } }
    Array.new(5) { |n| (BigDecimal(n) + slow.new).to_s }
  end

  def strscan(me, turn)
    slow = Class.new { define_method(:to_str) { turn.call("k#{me}=#{me};") } }
    scanner = StringScanner.new(+"")
    Array.new(5) do
      scanner << slow.new
      scanner.scan(/(?<key>\w+)=(?<value>\d+);/) && turn.call
      [scanner.named_captures, scanner[:key], scanner.pos]
    end
  end

  # Calls nothing; hashes without Ruby's lock.
  def bcrypt(me, turn)
    Array.new(3) do |n|
      turn.call && BCrypt::Password.create("word#{me}-#{n}", cost: 4).then do |hash|
        [hash == "word#{me}-#{n}", hash == "word#{me}-4", hash.cost]
      end
    end
  end

  # Its C calls nothing: what reads and writes is Ruby.
  def snappy(me, turn)
    out = StringIO.new
    Snappy::Writer.new(out) do |writer|
      4.times { |n| turn.call && writer << ("#{me}-#{n}" * 50) && writer.dump! }
    end
    [Snappy::Reader.new(StringIO.new(out.string)).read.sum,
     (Snappy.inflate("x#{me}") rescue $!.class.name)]
  end

  def commonmarker(me, turn)
    page = Class.new(CommonMarker::HtmlRenderer) do
      define_method(:link) { |node| turn.call && out("[#{me}|#{node.url}]") }
    end
    list = Array.new(5) { |n| "* [a *#{n}*](/#{me})" }.join("\n")
    document = CommonMarker.render_doc("# #{me}\n\n#{list}\n\n" \
                                       "| a | b |\n|---|---|\n| #{me} | ~~c~~ |\n",
                                       :DEFAULT, %i[table strikethrough])
    types = []
    document.walk { |node| types << node.type && node.type == :emph && turn.call }
    [types, document.to_html, page.new.render(document)]
  end

  # --- What looks at the program itself ---

  # Fibers apart: the methods of this one alone.
  def rubyprof(me, turn)
    values = nil
    result = RubyProf::Profile.new(include_threads: [Thread.current]).profile do
      values = Array.new(5 + (me % 4)) { turn.call rescue $!.message }
    end
    own = result.threads.find { |thread| thread.fiber_id == Fiber.current.object_id }
    [values, own.methods.select { |method| method.full_name.include?("Turn#call") }.map(&:called)]
  end

  def stackprof_wall(me, turn)
    self.class.profiled(:wall, 500) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
  end

  def stackprof_cpu(me, turn)
    self.class.profiled(:cpu, 500) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
  end

  def stackprof_object(me, turn)
    self.class.profiled(:object, 5) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
  end

  @profiling = 0
  @profiles = Mutex.new

  # The process has one profile. The first request begins it, and the last ends it.
  def self.profiled(mode, interval)
    @profiles.synchronize do
      (@profiling += 1) == 1 && StackProf.start(mode: mode, interval: interval, raw: true)
    end
    begin
      [(yield rescue $!.message), StackProf.running?]
    ensure
      @profiles.synchronize { (@profiling -= 1).zero? && StackProf.stop }
    end
  end

  # --- Files and images ---

  def zlib_reader(me, turn)
    text = Zlib.gzip(Random.new(me).bytes(600))
    [Zlib::GzipReader.new(Drops.new(text, turn, 200)).read.sum,
     (Zlib::GzipReader.new(Drops.new("x#{me}" * 100, turn, 200)).read rescue $!.class.name)]
  end

  def zlib_writer(me, turn)
    out = +""
    io = Object.new
    io.define_singleton_method(:write) { |text| turn.call && (out << text).size }
    writer = Zlib::GzipWriter.new(io)
    writer.mtime = 1
    5.times { |n| writer.write(Random.new(me + n).bytes(9_000)) && writer.flush }
    writer.finish
    Zlib.gunzip(out).sum
  end

  def vips(me, turn)
    source = Vips::SourceCustom.new
    image = StringIO.new("P5 16 16 255\n".b + Random.new(me).bytes(256))
    # GLib calls the block, so nobody sees what it raises: every third request waits instead.
    source.on_read do |size|
      (me % 3 == 2 ? sleep(0.001) : turn.call) && image.read([size, 100].min)
    end
    Vips::Image.new_from_source(source, "", access: :sequential).avg
  end

  def rmagick(me, turn)
    image = Magick::Image.new(3, 3) do |options|
      turn.call && options.background_color = "rgb(#{me},#{me * 2},9)"
    end
    seen = []
    begin
      image.each_pixel do |pixel, column, row|
        turn.call && seen << [pixel.red / 257, pixel.green / 257, column, row]
      end
    rescue StandardError => e
      seen << e.message
    end
    bigger = image.blur_image(0, 1).resize(8, 8).get_pixels(2, 2, 2, 1).map do |pixel|
      pixel.green / 257
    end
    blob = image.to_blob { |options| turn.call && options.format = "PPM" }
    [seen, bigger, Magick::Image.from_blob(blob).first.columns,
     (Magick::Image.from_blob("x#{me}") { |one| one.format = "PNG" } rescue $!.class.name)]
  end

  def sassc(me, turn)
    functions = Module.new do
      define_method(:slowly) do |text|
        SassC::Script::Value::String.new(turn.call("#{text.value}-#{me}"))
      end
    end
    importer = Class.new(SassC::Importer) do
      define_method(:imports) do |path, _from|
        sleep(0.001) && SassC::Importer::Import.new(path, source: ".#{path} { of: #{me} }")
      end
    end
    calls = Array.new(5) { |n| "p#{n}: slowly(x#{n});" }.join
    SassC::Engine.new("@import 'i#{me}', 'j'; .a { #{calls} }",
                      functions: functions, importer: importer, style: :compressed).render
  end

  # --- Databases and networks ---

  def sqlite_collation(me, turn)
    with_sqlite do |database|
      collation = Class.new { define_method(:compare) { |one, other| turn.call(other <=> one) } }
      database.collation("slow", collation.new)
      database.execute("CREATE TABLE t (name TEXT)")
      %w[b d a c].each { |name| database.execute("INSERT INTO t VALUES (?)", ["#{name}#{me}"]) }
      database.execute("SELECT name FROM t ORDER BY name COLLATE slow").flatten
    end
  end

  def sqlite_function(me, turn)
    with_sqlite do |database|
      database.create_function("slowly", 1) do |function, value|
        function.result = turn.call(value * me)
      end
      database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL " \
                       "SELECT i + 1 FROM n WHERE i < 5) SELECT slowly(i) FROM n").flatten
    end
  end

  def sqlite_aggregate(me, turn)
    with_sqlite do |database|
      sum = Class.new do
        define_method(:initialize) { |*| @sum = 0 }
        define_method(:step) { |value| turn.call && @sum += value }
        define_method(:finalize) { @sum }
      end
      database.define_aggregator("slow_sum", sum.new)
      database.execute("WITH RECURSIVE n(i) AS (SELECT #{me} UNION ALL " \
                       "SELECT i + 1 FROM n WHERE i < #{me + 4}) " \
                       "SELECT slow_sum(i) FROM n").flatten
    end
  end

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
    server = OpenSSL::SSL::SSLSocket.new(pair[0], self.class.server_context)
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
    request = Typhoeus::Request.new("#{self.class.service}/#{me}")
    body = +""
    request.on_headers { turn.call }
    request.on_body { |part| (body.empty? ? turn.call : sleep(0.001)) && body << part }
    request.on_complete { turn.call }
    request.run
    [body, request.response.code]
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
    client.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.size * 4}\r\nConnection: close\r\n\r\n")
    4.times { client.write(path) && sleep(0.002) }
  ensure
    client.close
  end

  # With a scheduler curb runs it in another fiber, which does not have the values of
  # Thread.current[] (compat/curb.rb).
  def curb(me, turn)
    seen = []
    easy = Curl::Easy.new("#{self.class.service}/#{me}")
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
      easy = Curl::Easy.new("#{self.class.service}/#{me}-#{n}")
      easy.on_body { |part| sleep(0.001) && (seen[n] = "#{seen[n]}#{part}") && part.size }
      easy.on_success { |one| turn.call && seen["done#{n}"] = one.response_code }
      multi.add(easy)
    end
    multi.perform
    seen.sort_by(&:to_s)
  end

  def rdkafka(me, turn)
    producer = self.class.producer
    handles = Array.new(4) do |n|
      producer.produce(topic: "of-#{me}", key: "k", payload: "#{me}-#{n}", label: [me, n])
    end
    handles.map { |handle|
      turn.call && handle.wait(max_wait_timeout: 20).then { |report|
        [report.topic_name, report.label, self.class.delivered.delete(report.label)]
      }
    }
  end

  @delivered = {}
  @kafka = Mutex.new

  class << self
    attr_reader :delivered

    # One for all, with a cluster of librdkafka's own: reports come in a thread of the gem.
    def producer
      @kafka.synchronize do
        Rdkafka::Config.logger.level = Logger::WARN
        @producer ||= Rdkafka::Config.new("test.mock.num.brokers": 1).producer.tap do |producer|
          producer.delivery_callback = ->(report) {
            sleep(0.0003) && delivered[report.label] = report.partition >= 0
          }
        end
      end
    end
  end

  def pg_types(me, turn)
    with_pg do |connection|
      decoder = Class.new(PG::SimpleDecoder) do
        define_method(:decode) { |text, *| turn.call("#{text}!") }
      end
      encoder = Class.new(PG::SimpleEncoder) do
        define_method(:encode) { |value, *| turn.call("<#{value}>") }
      end
      params = PG::TypeMapByColumn.new([encoder.new])
      result = connection.exec_params("SELECT $1::text AS a, '#{me}' AS b", ["x#{me}"], 0, params)
      result.type_map = PG::TypeMapByColumn.new([decoder.new, decoder.new])
      result.to_a
    end
  end

  def pg_notices(me, turn)
    with_pg do |connection|
      seen = []
      connection.set_notice_processor { |text| seen << (turn.call(text) rescue $!.message) }
      connection.exec(
        "DO $$ BEGIN FOR i IN 1..4 LOOP RAISE NOTICE 'of % %', #{me}, i; END LOOP; END $$"
      )
      seen << connection.exec("SELECT #{me}").getvalue(0, 0)
    end
  end

  def mysql_stream(me, turn)
    client = Mysql2::Client.new(host: "127.0.0.1", port: Integer(ENV.fetch("NB_MYSQL_PORT")),
                                username: "root", database: "test")
    rows = []
    client.query("SELECT #{me} AS a UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4",
                 stream: true, cache_rows: false).each { |row| turn.call && rows << row["a"] }
    rows
  ensure
    client&.close
  end

  def ffi_sorted(me, turn)
    numbers = [4, 2, 3, 1].map { |number| number * (me + 1) }
    memory = FFI::MemoryPointer.new(:int, 4).write_array_of_int(numbers)
    library = FFI::DynamicLibrary.open(nil, FFI::DynamicLibrary::RTLD_LAZY)
    sort = FFI::Function.new(:void, %i[pointer size_t size_t pointer],
                             library.find_function("qsort"))
    compare = FFI::Function.new(:int, %i[pointer pointer]) do |one, other|
      turn.call(one.read_int <=> other.read_int)
    end
    sort.call(memory, 4, 4, compare)
    memory.read_array_of_int(4)
  end

  private

  # Bad for odd ones.
  def xml(me, text = 4)
    elements = Array.new(5) { |n| "<e#{me}-#{n}>#{"x" * text}</e#{me}-#{n}>" }
    "<all>#{elements.join}#{"<wrong></rong>" if me.odd?}</all>"
  end

  def json(me)
    "{\"a\":[1,#{me},{\"b\":2}],\"c\":{\"d\":#{me}},\"e\":\"#{"f" * me}\"#{"," if me.odd?}}"
  end

  def with_sqlite
    database = SQLite3::Database.new(":memory:")
    yield database
  ensure
    database&.close
  end

  def with_pg
    connection = PG.connect(host: "127.0.0.1", port: Integer(ENV.fetch("NB_PG_PORT")),
                            user: "postgres", dbname: "postgres")
    yield connection
  ensure
    connection&.close
  end
end

if $PROGRAM_NAME == __FILE__
  askers, *names = ARGV
  answers = names.to_h do |name|
    [name, Array.new(Integer(askers)) { |me| Thread.new { GemCallbacks.answer(name, me) }.value }]
  end
  puts JSON.generate(answers)
end

# rubocop:enable Style/RescueModifier
