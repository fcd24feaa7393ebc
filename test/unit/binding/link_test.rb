# frozen_string_literal: true

require_relative "binding_case"
require "socket"

# Tests NeverBlock::Channel and NeverBlock::Link: a front in this process, executors in forked ones,
# and what crosses between them.
class LinkTest < BindingCase
  APP = lambda do |env|
    case env["PATH_INFO"]
    when "/pid" then [200, {}, [Process.pid.to_s]]
    when "/size" then [200, {}, [env["rack.input"].read.bytesize.to_s]]
    when "/file" then [200, {}, Class.new { def to_path = __FILE__ }.new]
    when "/take"
      env["rack.hijack"].call.then do |io|
        io.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nours") && io.close
      end
    when "/die" then Process.kill(:KILL, Process.pid) && sleep
    when "/begin"
      [200, {}, ->(stream) {
        stream.write("begun") && stream.flush && Process.kill(:KILL, Process.pid) && sleep
      }]
    when "/wait" then sleep
    else [200, {}, ["#{env["SERVER_NAME"]} #{env["SERVER_PORT"]}"]]
    end
  end

  def setup
    super
    @workers = {}
  end

  def teardown
    @workers.each_value { |pid| Process.kill(:KILL, pid) }
    @workers.each_key.to_a.each { |channel| ended(channel) }
    @front&.stop_now
    assert @front.join(SECONDS) if @front
    super
  end

  def front(workers = 0, **settings)
    @front = NeverBlock::Engine.new(front: 1, log_fd: @log_file.fileno, **settings)
    @port = @front.listen_tcp("127.0.0.1", 0, 64)
    channels = Array.new(workers) { |number| worker(number) }
    @front.start
    channels.each(&:serve)
  end

  # A process with an executor, which is not served yet.
  def worker(number = 0, app = APP)
    channel = @front.channel(number)
    # Before the fork, whose child closes what the parent's engine has.
    descriptors = channel.descriptors.map { |number| IO.for_fd(number, autoclose: false).dup }
    channel.pid = @workers[channel] = fork { run_worker(descriptors, app) }
    descriptors.each(&:close)
    channel.handed_over
  end

  def run_worker(descriptors, app)
    link = NeverBlock::Link.new(*descriptors.each { |io| io.autoclose = false }.map(&:fileno))
    Thread.new { NeverBlock::Executor.new(link, app, fibers: 8).run }.join
    exit!(0)
  rescue Exception # rubocop:disable Lint/RescueException -- a forked test must not go on as one
    exit!(1)
  end

  def client(&block) = Wire::Client.open("http://127.0.0.1:#{@port}", deadline_s: SECONDS, &block)

  def ended(channel)
    Process.wait(@workers.delete(channel))
    channel.end
  end

  def ask(path) = client { |wire| wire.get(path) && wire.response }

  # Returns when it stands still: kill(2) does not wait for that.
  def stop(channel)
    Process.kill(:STOP, channel.pid)
    Process.wait(channel.pid, Process::WUNTRACED)
  end

  def pid_of(wire) = wire.get("/pid") && wire.response.body.to_i

  def test_requests_are_answered_by_the_process_of_the_channel
    channel, = front(1)
    assert_equal @workers[channel], ask("/pid").body.to_i
    client do |wire|
      wire.write("GET / HTTP/1.0\r\n\r\n")
      assert_equal "127.0.0.1 #{@port}", wire.response.body
    end
    assert_equal 0, channel.number
    assert_operator channel.figures.fetch(:taken), :>=, 2
  end

  def test_the_file_of_a_body_a_file_sent_and_a_connection_taken_cross_as_descriptors
    front(1)
    body = "x" * 300_000
    client do |wire|
      wire.write("POST /size HTTP/1.1\r\nHost: a\r\n" \
                 "Content-Length: #{body.bytesize}\r\n\r\n#{body}")
      assert_equal "300000", wire.response.body
    end
    assert_equal File.binread(__FILE__), ask("/file").body
    assert_equal "ours", ask("/take").body
  end

  # A reload has as many again as serve.
  def test_a_lane_has_places_for_512_threads_of_all_processes
    @front = NeverBlock::Engine.new(front: 1, log_fd: @log_file.fileno)
    @front.lane(128, 1)
    @front.start
    *served, refused = Array.new(5) { |number| @front.channel(number).handed_over }
    served.each { |channel| assert_predicate channel.serve, :place? }
    refute_predicate refused, :place?
    assert_match(/there is no place/, assert_raises(NeverBlock::Error) { refused.serve }.message)
    served.first.end
    assert_predicate refused, :place?
    refused.serve
  end

  def test_requests_wait_for_a_channel_that_serves_and_are_refused_where_none_will
    front
    @front.unavailable = 7
    refused = ask("/pid")
    assert_equal [503, "7"], [refused.status, refused["retry-after"]]
    @front.unavailable = nil
    client do |wire|
      wire.get("/pid")
      channel = worker.serve
      assert_equal channel.pid, wire.response.body.to_i
    end
  end

  def test_what_waited_is_refused_too_when_no_channel_will_serve
    front
    client do |wire|
      wire.get("/")
      within { Thread.pass until @front.stats[:queue] == 1 }
      @front.unavailable = 3
      response = wire.response
      assert_equal [503, "3"], [response.status, response["retry-after"]]
    end
  end

  def test_a_killed_workers_request_is_502_and_its_connection_goes_on_with_another
    channels = front(2)
    client do |wire|
      wire.get("/die")
      # Other tests may have left children.
      died = Process.wait until channels.map(&:pid).include?(died)
      dead = channels.find { |channel| channel.pid == died }
      @workers.delete(dead)
      assert_equal({ failed: 1, cut: 0, again: 0, lines: ["GET /die HTTP/1.1"] }, dead.end)
      assert_equal 502, wire.response.status
      assert_equal (channels - [dead]).first.pid, pid_of(wire)
      assert_match(/ended/, assert_raises(NeverBlock::Error) { dead.end }.message)
    end
  end

  def test_a_response_that_had_begun_is_cut
    channel, = front(1)
    client do |wire|
      wire.get("/begin")
      assert_equal({ failed: 0, cut: 1, again: 0, lines: ["GET /begin HTTP/1.1"] }, ended(channel))
      assert_raises(Wire::Cut) { wire.response }
    end
  end

  def test_what_a_worker_had_not_begun_with_runs_in_another
    channel, = front(1)
    ask("/pid") # it has asked for more: how much, only it knows
    stop(channel)
    clients = Array.new(3) { Wire::Client.open("http://127.0.0.1:#{@port}", deadline_s: SECONDS) }
    clients.each { |wire| wire.get("/pid") }
    within { Thread.pass until @front.stats[:requests] == 4 }
    Process.kill(:KILL, channel.pid)
    assert_includes 1..3, ended(channel)[:again]
    other = worker.serve
    assert_equal [other.pid], clients.map { |wire| wire.response.body.to_i }.uniq
  ensure
    clients&.each(&:close)
  end

  def test_a_stopped_workers_requests_go_to_the_one_that_runs
    channels = front(2)
    stopped, running = channels
    stop(stopped)
    20.times { assert_equal running.pid, ask("/pid").body.to_i }
  ensure
    Process.kill(:CONT, stopped.pid)
  end

  def test_a_retired_worker_ends_with_its_last_request
    channel, other = front(2)
    stop(other) # so that the first has the request
    client do |wire|
      wire.get("/wait")
      within { Thread.pass until channel.running == ["GET /wait HTTP/1.1"] }
      Process.kill(:CONT, other.pid)
      channel.retire
      assert_equal other.pid, ask("/pid").body.to_i
      assert_nil Process.wait(channel.pid, Process::WNOHANG)
      Process.kill(:KILL, channel.pid)
      assert_equal 1, ended(channel)[:failed]
    end
    other.retire
    assert_equal 0, Process.wait2(@workers.delete(other)).last.exitstatus
    assert_equal 0, other.end[:failed]
  end

  def test_a_drained_front_ends_its_workers
    front(2)
    client do |wire|
      pid_of(wire)
      @front.drain
    end
    @workers.each_value { |pid| assert_equal 0, Process.wait2(pid).last.exitstatus }
    @workers.clear
    assert @front.join(SECONDS)
    @front.close
    @front = nil
  end

  # The memory of the link is its parent's: its rings have one end in that process only.
  def test_an_executor_does_not_run_in_a_child_of_its_process
    front
    channel = @front.channel(0)
    ours = channel.descriptors.map { |number| IO.for_fd(number, autoclose: false).dup }
    link = NeverBlock::Link.new(*ours.each { |io| io.autoclose = false }.map(&:fileno))
    executor = NeverBlock::Executor.new(link, APP)
    child = fork do
      executor.finish.run
    rescue NeverBlock::Error
      exit!(7)
    ensure
      exit!(8)
    end
    assert_equal 7, Process.wait2(child).last.exitstatus
  end

  def test_what_is_no_channel_or_no_link_is_refused
    front
    channel = @front.channel(3)
    assert_raises(TypeError, NoMethodError) { NeverBlock::Channel.new }
    assert_raises(ArgumentError) { NeverBlock::Link.new(1, 2, 3) }
    files = Array.new(4) { File.open(File::NULL).tap { |io| io.autoclose = false } }
    assert_raises(SystemCallError, NeverBlock::Error) do
      NeverBlock::Link.new(*files.map(&:fileno))
    end
    assert_raises(NeverBlock::Error) { NeverBlock::Executor.new(NeverBlock::Link.allocate, APP) }
    assert_raises(ArgumentError) { @front.channel(70_000) }
    assert_equal [4, 4], [channel.descriptors.size, channel.descriptors.uniq.size]
    assert_equal [-1, -1], channel.handed_over.descriptors.values_at(0, 3)
  end

  def test_several_loops_share_one_memory_and_one_bell_and_a_worker_answers_by_each
    front(1, io_threads: 3)
    # The memory, the executor's bell, and for each loop a bell and a pipe.
    assert_equal 8, @front.channel(9).descriptors.uniq.size
    clients = Array.new(3) { Wire::Client.open("http://127.0.0.1:#{@port}", deadline_s: SECONDS) }
    clients.each { |client| client.get("/file") }
    assert_equal [File.binread(__FILE__)], clients.map { |client| client.response.body }.uniq
    clients.each { |client| client.get("/take") }
    assert_equal ["ours"], clients.map { |client| client.response.body }.uniq
    assert_equal 6, @workers.keys.first.figures[:taken]
  ensure
    clients&.each(&:close)
  end

  def test_descriptors_and_maps_are_given_back(**settings)
    front(0, **settings)
    GC.start # what other tests have left open is not closed meanwhile
    count = -> {
      maps = File.read("/proc/self/maps").scan("memfd:neverblock")
      [Dir.children("/proc/self/fd").size, maps.size]
    }
    before = count.call
    20.times do
      channel = worker.serve
      Process.kill(:KILL, channel.pid)
      ended(channel)
    end
    assert_equal before, count.call
  end

  def test_descriptors_and_maps_of_several_loops_are_given_back
    test_descriptors_and_maps_are_given_back(io_threads: 2)
  end
end
