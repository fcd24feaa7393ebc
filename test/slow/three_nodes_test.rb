# frozen_string_literal: true

# Three machines (network namespaces) behind a real HAProxy with examples/deploy/haproxy.cfg,
# sessions in Redis. Under load one is killed and comes back, one is drained and comes back, one is
# upgraded. What is safe to repeat must not fail at all; what is not may fail only where the killed
# machine had it.
#
#   NB_NODES_SECONDS=60    of load; default 20

require "minitest/autorun"
require "net/http"
require "securerandom"
require_relative "../support/node_net"
require_relative "../support/patience"
require_relative "../support/server_process"

class ThreeNodesTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("NB_NODES_SECONDS", "20"), 10)
  READERS = 8
  WRITERS = 4
  PORT = 9292

  APP = <<~'RUBY'
    require "redis"
    REDIS = Array.new(8) { Redis.new(host: ENV.fetch("NB_REDIS"), port: 6379) }
    NODE = ENV.fetch("NB_NODE")

    # A visit counts in the session of its cookie; an order is taken once.
    run(lambda do |env|
      redis = REDIS.sample
      session = env["HTTP_COOKIE"].to_s[/session=(\w+)/, 1]
      sleep 0.01
      count = redis.incr("#{env["REQUEST_METHOD"]}:#{session}")
      [200, { "content-type" => "text/plain", "x-node" => NODE }, ["#{session} #{count}"]]
    end)
  RUBY

  # What a client saw.
  Seen = Struct.new(:session, :answers, :failures, keyword_init: true)

  def setup
    @problem = NodeNet.problem || missing("haproxy", "-v") || missing("redis-server", "-v")
    skip @problem if @problem
    @net = NodeNet.new(3).make
    @folder = Dir.mktmpdir
    @children = []
    @nodes = []
    redis
    3.times { |number| @nodes << node(number) }
    haproxy
  end

  def teardown
    return if @problem

    @nodes.each(&:kill)
    @children.each { |pid| finish(pid) }
    @net.remove
    FileUtils.rm_rf(@folder)
  end

  def test_a_node_is_killed_one_drained_one_upgraded_under_load
    @until = clock + SECONDS
    readers = Array.new(READERS) { client(Net::HTTP::Get) }
    writers = Array.new(WRITERS) { client(Net::HTTP::Post) }
    at(0.2) { @nodes[0].kill }
    at(0.35) { @nodes[0] = node(0) }
    at(0.5) { drain(1) }
    at(0.65) { @nodes[1] = node(1) }
    at(0.8) { Process.kill("HUP", @nodes[2].pid) }
    read = readers.map(&:value)
    wrote = writers.map(&:value)
    assert_empty read.flat_map(&:failures)
    lost = wrote.flat_map(&:failures)
    assert_operator lost.size, :<=, WRITERS, lost.inspect
    assert_each_once(read + wrote)
    puts "three nodes: #{(read + wrote).sum { |one| one.answers.size }} answers, " \
         "#{lost.size} lost with the killed node"
  end

  private

  # No answer twice, none of another's session; every node has answered.
  def assert_each_once(all)
    nodes = all.flat_map { |seen| seen.answers.map(&:first) }.tally
    assert_equal %w[0 1 2], nodes.keys.sort
    all.each do |seen|
      texts = seen.answers.map(&:last)
      assert_equal texts.uniq, texts
      assert(texts.all? { |text| text.start_with?("#{seen.session} ") })
    end
  end

  def client(kind)
    session = SecureRandom.hex(8)
    Thread.new do
      seen = Seen.new(session: session, answers: [], failures: [])
      Net::HTTP.start(@net.here, 8080, max_retries: 0) do |http|
        ask(http, kind, seen) until clock > @until
      end
      seen
    end
  end

  def ask(http, kind, seen)
    request = kind.new("/", "cookie" => "session=#{seen.session}")
    request.body = "" if kind == Net::HTTP::Post
    answer = http.request(request)
    return seen.failures << "#{answer.code} after #{elapsed} s" unless answer.code == "200"

    seen.answers << [answer["x-node"], answer.body]
  rescue SystemCallError, IOError => e
    seen.failures << "#{e.class} after #{elapsed} s"
    http.finish if http.started?
    http.start
  end

  def elapsed = (clock - (@until - SECONDS)).round(2)

  # TERM, and status 0 once everything has ended.
  def drain(number) = @nodes[number].stop

  def at(share)
    sleep([(@until - SECONDS + (share * SECONDS)) - clock, 0].max)
    yield
  end

  def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def node(number)
    address = @net.address(number)
    ServerProcess.new(APP, binds: ["http://#{address}:#{PORT}"], wrap: @net.on(number),
                           options: ["-w", "2", "--admin", "http://#{address}:9293"],
                           env: { "NB_REDIS" => @net.here, "NB_NODE" => number.to_s,
                                  "RUBYOPT" => "-rbundler/setup" }).start
  end

  def redis
    child("redis-server", "--bind", @net.here, "--protected-mode", "no", "--save", "",
          "--dir", @folder)
    Patience.await("Redis") { connects?(6379) }
  end

  # The example's file with our addresses.
  def haproxy
    text = File.read(File.join(ServerProcess::ROOT, "examples/deploy/haproxy.cfg"))
    3.times { |number| text = text.gsub("10.0.0.#{11 + number}:", "#{@net.address(number)}:") }
    File.write(path = File.join(@folder, "haproxy.cfg"),
               text.sub("bind :8080", "bind #{@net.here}:8080"))
    child("haproxy", "-db", "-f", path)
    Patience.await("HAProxy", -> {
      File.read(File.join(@folder, "haproxy.log"))
    }) { connects?(8080) }
  end

  def child(*words)
    log = File.join(@folder, "#{words.first}.log")
    @children << Process.spawn(*words, out: log, err: %i[child out], in: File::NULL)
  end

  def connects?(port)
    Socket.tcp(@net.here, port, connect_timeout: 1).close
    true
  rescue SystemCallError
    false
  end

  def finish(pid)
    Process.kill("KILL", pid)
    Process.wait(pid)
  end

  def missing(program, flag)
    "needs #{program}" unless system(program, flag, out: File::NULL, err: File::NULL)
  end
end
