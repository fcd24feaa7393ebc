# frozen_string_literal: true

# Libraries in C that call Ruby in the middle of what they do: the callbacks compute, wait, and
# raise. /NAME is answered by Callbacks#NAME, `me` tells who asks, and odd ones meet what is wrong.

require "ffi"
require "json"
require "nokogiri"
require "sqlite3"
require "socket"
require "zlib"

class Callbacks
  # Elements of a document: some 200 KB, read in many pieces.
  ELEMENTS = 4_000
  ERRORS = 7

  module Library
    extend FFI::Library

    ffi_lib FFI::Library::LIBC
    callback :compare, %i[pointer pointer], :int
    attach_function :qsort, %i[pointer size_t size_t compare], :void
  end

  class Failed < StandardError; end

  # Tells the names it was told, in the order they came.
  class Elements < Nokogiri::XML::SAX::Document
    attr_reader :names, :errors

    def initialize(&each)
      super()
      @each = each
      @names = []
      @errors = []
    end

    def start_element(name, *) = (@names << name) && @each.call
    def error(text) = @errors << text
  end

  # No IO: a thread gives its parts.
  class Fed
    def initialize(text)
      @parts = Queue.new
      Thread.new do
        text.scan(/.{1,2000}/m) { |part| @parts << part && sleep(0.0002) }
        @parts.close
      end
    end

    def read(bytes)
      @left = @parts.pop if @left.nil? || @left.empty?
      @left&.slice!(0, bytes)
    end

    def close; end
  end

  class << self
    # @return [String] a document with `errors` mismatched tags
    def document(me, errors)
      elements = Array.new(ELEMENTS) { |number| "<e#{me}>#{number}</e#{me}>" }
      "<all>#{elements.join}#{"<wrong></rong>" * errors}</all>"
    end
  end

  def initialize(folder)
    @folder = folder
    @socket = TCPServer.new("127.0.0.1", 0)
    Thread.new { loop { send_document(@socket.accept) } }
  end

  def call(env)
    query = env["QUERY_STRING"].split("&").to_h { |pair| pair.split("=", 2) }
    me = Integer(query["me"])
    [200, {}, [JSON.generate(public_send(env["PATH_INFO"].delete_prefix("/"), me, env))]]
  end

  # --- libxml2: its handler of errors is the thread's ---

  def file(me, _env) = File.open(path(me)) { |io| found(Nokogiri::XML(io)) }

  def gzip(me, _env) = Zlib::GzipReader.open("#{path(me)}.gz") { |io| found(Nokogiri::XML(io)) }

  def input(_me, env) = found(Nokogiri::XML(env["rack.input"]))

  def socket(me, _env)
    TCPSocket.open("127.0.0.1", @socket.addr[1]) do |io|
      io.puts(me)
      found(Nokogiri::XML(io))
    end
  end

  def fed(me, _env) = found(Nokogiri::XML(Fed.new(document_of(me))))

  def fed_reader(me, _env)
    reader = Nokogiri::XML::Reader.from_io(Fed.new(document_of(me)))
    [reader.count { |node| node.name == "e#{me}" }, reader.errors.size]
  rescue Nokogiri::XML::SyntaxError => e
    e.message[/wrong|rong/]
  end

  def sax(me, _env)
    elements = Elements.new { wait }
    document = document_of(me).sub(/<e#{me}>.*(?=<e#{me}>)/, "")
    Nokogiri::XML::SAX::Parser.new(elements).parse(document)
    [elements.names.uniq.size, elements.errors.size]
  end

  def reader(me, _env)
    File.open(path(me)) do |io|
      count = 0
      reader = Nokogiri::XML::Reader(io)
      reader.each { |node| count += 1 if node.name == "e#{me}" }
      [count, reader.errors.size]
    rescue Nokogiri::XML::SyntaxError => e
      [count, e.message[/wrong|rong/]]
    end
  end

  def xpath(me, _env)
    handler = Class.new do
      define_method(:odd) do |nodes|
        sleep(0.0005) && nodes.select { |node| node.content.to_i.odd? }
      end
    end.new
    elements = (1..20).map { |number| "<b>#{number * me}</b>" }
    Nokogiri::XML("<a>#{elements.join}</a>").xpath("//b[odd(.)]", handler).size
  end

  # --- ffi: the frames of its callbacks are the thread's ---

  def sorted(me, _env) = sort(me) { wait }

  # A wait for a Queue parks the fiber also here.
  def sorted_by_queue(me, _env)
    turns = Queue.new
    thread = Thread.new { 100.times { turns << sleep(0.0002) } }
    sort(me) { turns.pop }
  ensure
    thread.join
  end

  # --- SQLite: the connection is locked by the thread that runs a statement ---

  def sqlite(me, _env)
    database = SQLite3::Database.new(":memory:")
    database.create_function("slowly", 1) do |function, value|
      spin and function.result = value * me
    end
    database.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) " \
      "SELECT sum(slowly(i)) FROM n"
    ).flatten.first
  ensure
    database&.close
  end

  def hog(_me, _env)
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
    "hog"
  end

  private

  def errors_of(me) = me.odd? ? ERRORS : 0

  def path(me)
    File.join(@folder, me.odd? ? "bad#{me}.xml" : "good#{me}.xml").tap do |path|
      next if File.exist?("#{path}.gz")

      File.write(path, document_of(me))
      Zlib::GzipWriter.open("#{path}.gz") { |io| io.write(File.read(path)) }
    end
  end

  def send_document(client)
    Thread.new do
      me = Integer(client.gets)
      document_of(me).scan(/.{1,8192}/m) { |piece| client.write(piece) && sleep(0.001) }
    ensure
      client.close
    end
  end

  def found(document)
    document.errors.map(&:message).grep(/wrong/).size
  end

  def document_of(me) = self.class.document(me, errors_of(me))

  def sort(me, &wait)
    numbers = Array.new(12) { |number| (number * 7 + me) % 12 }
    memory = FFI::MemoryPointer.new(:int, 12).write_array_of_int(numbers)
    Library.qsort(memory, 12, 4, compare(me.odd?, wait))
    memory.read_array_of_int(12)
  rescue Failed => e
    "failed #{e.message}"
  end

  def compare(fails, wait)
    lambda do |one, other|
      wait.call
      raise Failed, one.read_int.to_s if fails && one.read_int == 5

      one.read_int <=> other.read_int
    end
  end

  def wait
    spin
    sleep(0.0005)
  end

  def spin
    200.times { |number| number.to_s }
  end
end
