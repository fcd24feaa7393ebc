# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require_relative "../../support/self_signed_certificate"
require "neverblock"
require "neverblock/downloads/losses"
require "neverblock/downloads/post"
require "neverblock/downloads/report"
require "socket"

# Reports on their way to a URL, against a peer that answers what the test says.
class DownloadsPostTest < Minitest::Test
  Downloads = NeverBlock::Downloads

  # Answers each POST with the next of `answers`, and with the last one for ever.
  # :hang_up closes without a word. A hold makes it wait before each answer.
  class Application
    NO_BODY = "Content-Length: 0\r\n\r\n"
    attr_reader :bodies, :connections, :heads

    def initialize(*answers, port: 0, tls: nil)
      @answers = answers
      @tls = tls
      @bodies = Thread::Queue.new
      @heads = []
      @connections = 0
      @server = TCPServer.new("127.0.0.1", port)
      @sockets = []
      @thread = Thread.new { serve }
    end

    def port
      @server.local_address.ip_port
    end

    def close
      @thread.kill.join
      [@server, *@sockets].each(&:close)
    end

    private

    def serve
      loop do
        @sockets << (socket = accept)
        @connections += 1
        answer(socket) until socket.closed? || socket.eof?
      rescue OpenSSL::SSL::SSLError
        next # whoever does not trust us
      end
    end

    def accept
      socket = @server.accept
      @tls ? SelfSignedCertificate.accept(socket, @tls.server_context) : socket
    end

    def answer(socket)
      head = socket.gets("\r\n\r\n")
      @heads << head
      body = socket.read(head[/content-length: (\d+)/i, 1].to_i)
      reply = @answers.size > 1 ? @answers.shift : @answers.first
      return socket.close if reply == :hang_up

      rest = reply == :broken ? "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx" : NO_BODY
      reply = 200 if reply == :broken
      socket.write("HTTP/1.1 #{reply} Whatever\r\n#{rest}")
      @bodies << [reply, JSON.parse(body)]
    end
  end

  class Lines
    attr_reader :lines

    def initialize
      @lines = Thread::Queue.new
    end

    %i[info warn].each { |name| define_method(name) { |text| @lines << text } }

    def to_a
      Array.new(@lines.size) { @lines.pop }
    end
  end

  def setup
    @log = Lines.new
    @counts = Hash.new(0)
    @lock = Mutex.new
  end

  def teardown
    @post&.close(0)
    @application&.close
  end

  def post(path = "/downloads", port: @application.port, user: nil, scheme: "http")
    count = ->(fate, number) { @lock.synchronize { @counts[fate] += number } }
    @losses = Downloads::Losses.new(@log, count)
    url = "#{scheme}://#{user}127.0.0.1:#{port}#{path}"
    @post = Downloads::Post.new(url, @log, count, @losses).start
  end

  def report(id, result = :complete)
    Downloads::Report.new(id, "/srv/\xff \u00fc".b, 1_000, 0.5, result)
  end

  def counted(fate, number)
    Patience.await("#{number} #{fate}") { @lock.synchronize { @counts[fate] } == number }
  end

  def test_reports_are_json_objects_posted_in_their_order_on_one_connection
    @application = Application.new(204)
    post("/downloads?from=here", user: "me:se%20cret@").offer([report("a"), report("b", :aborted)])
    counted(:posted, 2)
    first = {
      "id" => "a", "path" => "/srv/\u{fffd} \u00fc", "bytes" => 1_000, "seconds" => 0.5,
      "bytes_per_second" => 2_000.0, "result" => "complete"
    }
    assert_equal first, @application.bodies.pop.last
    assert_equal %w[b aborted], @application.bodies.pop.last.values_at("id", "result")
    assert_equal 1, @application.connections
    assert_match(%r{\APOST /downloads\?from=here HTTP/1\.1\r\n}, @application.heads.first)
    assert_match(/^content-type: application\/json\r$/i, @application.heads.first)
    assert_match(/^authorization: Basic #{["me:se cret"].pack("m0")}\r$/i, @application.heads.first)
    assert_empty @log.to_a
  end

  def test_an_answer_that_says_gzip_and_is_none_ends_nothing
    @application = Application.new(:broken)
    post.offer([report("a"), report("b")])
    counted(:posted, 2)
    assert_match(/^accept-encoding: identity\r$/i, @application.heads.first)
  end

  def test_with_https_they_are_posted_on_one_connection_to_whom_the_system_trusts
    certificate = SelfSignedCertificate.new
    # This store is the system's.
    store = OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE
    store.add_cert(OpenSSL::X509::Certificate.new(certificate.pem))
    @application = Application.new(204, tls: certificate)
    post(scheme: "https").offer([report("a"), report("b")])
    counted(:posted, 2)
    assert_equal %w[a b], Array.new(2) { @application.bodies.pop.last["id"] }
    assert_equal 1, @application.connections
    assert_empty @log.to_a
  end

  def test_with_https_nobody_else_is_told_anything
    @application = Application.new(204, tls: SelfSignedCertificate.new)
    post(scheme: "https").offer([report("a")])
    Patience.await("its trouble said") { @log.lines.size.positive? }
    reason = /cannot be reached \(.*certificate verify failed.*\): download reports wait/
    assert_match(%r{\Ahttps://127\.0\.0\.1:\d+/downloads #{reason}}, @log.lines.pop)
    assert_empty @application.bodies
  end

  def test_while_the_application_is_down_they_wait_and_go_when_it_is_back
    port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    post(port: port).offer([report("a"), report("b")])
    Patience.await("its trouble said") { @log.lines.size.positive? }
    reason = /cannot be reached \(.*\): download reports wait, at most 10000/
    assert_match(%r{\Ahttp://127\.0\.0\.1:#{port}/downloads #{reason}\z}, @log.lines.pop)
    @application = Application.new(200, port: port)
    counted(:posted, 2)
    assert_match(/are posted to .* again; 1 wait/, @log.lines.pop)
    assert_empty @log.to_a
  end

  def test_a_5xx_is_tried_again_and_a_connection_that_ends_too
    @application = Application.new(503, :hang_up, 200)
    post.offer([report("a")])
    counted(:posted, 1)
    assert_equal [503, 200], [@application.bodies.pop.first, @application.bodies.pop.first]
  end

  def test_what_is_refused_is_not_tried_again_and_said_once
    @application = Application.new(422, 301, 404, 200)
    post.offer(%w[a b c d].map { |id| report(id) })
    counted(:posted, 1)
    assert_equal 3, @counts[:refused]
    lines = @log.to_a
    assert_equal 1, lines.size
    told = /answers 422 to a download report, which is not posted again \(logged once\)/
    assert_match(%r{\Ahttp://127\.0\.0\.1:\d+/downloads #{told}\z}, lines.first)
  end

  def test_what_does_not_fit_is_counted_and_said_with_its_number
    port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    post(port: port).offer([report("a")])
    Patience.await("its trouble said") { @log.lines.size.positive? }
    @post.offer(Array.new(10_010) { report("b") })
    assert_equal 11, @counts[:lost]
    assert_match(
      /\A11 download reports are lost: 10000 wait to be posted to .*, which cannot be reached/,
      @log.to_a.last
    )
  end

  def test_closing_posts_what_is_left_where_that_can_be_done
    @application = Application.new(200)
    post.offer(Array.new(20) { |number| report("d#{number}") })
    @post.close(Patience::SECONDS)
    assert_equal [20, 0], [@counts[:posted], @counts[:lost]]
  end

  def test_closing_while_the_application_is_down_says_what_is_lost
    port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    post(port: port).offer([report("a"), report("b")])
    Patience.await("its trouble said") { @log.lines.size.positive? }
    @post.close(0)
    assert_equal 2, @counts[:lost]
    assert_match(
      /\A2 download reports are lost: the server has ended, and .* cannot be reached/,
      @log.to_a.last
    )
    @post = nil
  end

  def test_losses_are_said_at_once_and_then_once_a_minute
    time = 0.0
    losses = Downloads::Losses.new(@log, ->(_, _) {}, clock: -> { time })
    losses.add(1, "so it is")
    losses.add(2, "so it is")
    losses.add(3, "otherwise")
    time = 60.0
    losses.add(4, "so it is")
    losses.add(5, "so it is")
    losses.flush
    assert_equal [
      "1 download report is lost: so it is",
      "3 download reports are lost: otherwise",
      "6 download reports are lost: so it is",
      "5 download reports are lost: so it is"
    ], @log.to_a
  end

  def test_a_report_knows_its_speed
    assert_equal 2_000.0, report("a").bytes_per_second
    assert_equal 0.0, Downloads::Report.new("a", "/", 0, 1.0, :missing).bytes_per_second
    assert_equal 0.0, Downloads::Report.new("a", "/", 1, 0.0, :complete).bytes_per_second
    assert_equal %i[id path bytes seconds bytes_per_second result], report("a").to_h.keys
  end
end
