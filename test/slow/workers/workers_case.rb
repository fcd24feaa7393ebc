# frozen_string_literal: true

# The base of the worker tests. It runs the real command with several workers, a crowd of clients in
# a process of its own, and the journal of each worker. It compares what the front holds before and
# after.
#
# NB_TEST_SERVER=puma runs it against Puma's cluster, which shows that the tests can fail.

require "fileutils"
require "json"
require "minitest/autorun"
require "tmpdir"
require "zlib"

require "neverblock/bench"
require_relative "../../support/server_process"
require_relative "journal"

class WorkersCase < Minitest::Test
  WORKERS = 4
  DOWNLOAD_BYTES = 3_000_000
  POLL_S = 0.02

  # Some of everything, few enough that the machine has time for them.
  KINDS = { "small" => 12, "spooled" => 4, "streamed" => 3, "download" => 3, "chunks" => 4,
            "events" => 4 }.freeze

  def setup
    @directory = Dir.mktmpdir("neverblock-workers")
    @download = in_directory("download")
    File.binwrite(@download, Random.new(1).bytes(DOWNLOAD_BYTES))
    write_version("1")
    @journal = Journal::Reader.new(in_directory("journal"))
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  private

  def in_directory(name)
    File.join(@directory, name)
  end

  # What the application reads when it is loaded.
  def write_version(text)
    File.write(in_directory("version.new"), text)
    File.rename(in_directory("version.new"), in_directory("version"))
  end

  # @param loading [String] Ruby that the rackup file runs before anything else
  def rackup(loading = "")
    <<~RACKUP
      #{loading}
      require #{File.expand_path("app.rb", __dir__).inspect}
      run WorkersApp.new(version: File.read(#{in_directory("version").inspect}),
                         download: #{@download.inspect})
    RACKUP
  end

  # Runs the server, with the front, its mold and all workers up.
  # @param options [Array<String>] further words of the command
  # @param file [String] lines of the configuration file
  # @yieldparam server [ServerProcess]
  def serve(app = rackup, workers: WORKERS, options: [], file: "")
    File.write(in_directory("config.rb"), "route \"/streamed\", input: :stream\n#{file}")
    words = ["-w", workers.to_s, "-C", in_directory("config.rb"), "--pidfile", in_directory("pid"),
             *options]
    started(ServerProcess.new(app, options: words, env: environment), :start) do |server|
      await("#{workers} workers") { @tree.leaves.size == workers }
      yield server
    end
  end

  def environment
    { "NB_JOURNAL" => in_directory("journal"), "RACK_ENV" => "production" }
  end

  # Ends the server with everything it has started, whatever became of the test.
  # @param verb [Symbol] start (it listens), or launch
  def started(server, verb)
    all = {}
    server.public_send(verb)
    @tree = NeverBlock::Bench::ProcessTree.new(server.pid)
    yield server
    all = @tree.pids.to_h { |pid| [pid, started_at(pid)] }
    server.stop
  ensure
    all = @tree.pids.to_h { |pid| [pid, started_at(pid)] } if @tree && all.empty?
    server.kill
    all.each { |pid, at| Process.kill(:KILL, pid) if at && started_at(pid) == at }
  end

  # proc(5): field 22 of stat, by which a process id that was taken again is known.
  def started_at(pid)
    File.read("/proc/#{pid}/stat").rpartition(")").last.split[19]
  rescue SystemCallError
    nil
  end

  # A crowd that asks while the block runs.
  # @return [Hash] its account, when the last answer has come
  def crowd(server, kinds: KINDS, idle: 0, pause_s: 0.01)
    job = { url: server.url, crowd: (@crowds = @crowds.to_i + 1), seed: Random.new_seed % 1_000_000,
            kinds: kinds, idle: idle, download_sum: Zlib.crc32(File.binread(@download)),
pause_s: pause_s }
    client = IO.popen([RbConfig.ruby, File.expand_path("client.rb", __dir__), JSON.generate(job)],
                      "r+")
    raise "the clients did not begin" unless client.gets == "ready\n"

    yield
    client.close_write
    JSON.parse(client.read)
  ensure
    if client
      Process.kill(:KILL, client.pid) unless client.closed?
      client.close
    end
  end

  # Until the block is true: bounded, and what it waits for is in the message.
  def await(what, seconds: Patience::SECONDS)
    limit = now + seconds
    until (found = yield)
      flunk("no #{what} within #{seconds} s; processes: #{@tree&.pids.inspect}") if now > limit

      sleep POLL_S
    end
    found
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # What the front holds and how many processes there are, once it has seen that all clients have
  # left.
  def holdings(server)
    await("end of #{connections(server)} connections") { connections(server).zero? }
    counted(server)
  end

  # Without /dev/null. Ruby closes some that were opened at the start when it next collects them.
  def counted(server)
    { descriptors: descriptors(server).count { |link| link != File::NULL },
      shared: File.readlines("/proc/#{server.pid}/maps").grep(%r{/memfd:|/dev/shm/}).size,
      processes: @tree.pids.size }
  end

  # TCP sockets of the front that do not listen, so those of clients. In /proc/net/tcp (proc(5))
  # field 3 is the state, 0A is LISTEN, and field 9 is the inode.
  def connections(server)
    ours = descriptors(server).filter_map { |link| link[/\Asocket:\[(\d+)\]/, 1] }
    File.readlines("/proc/net/tcp").drop(1).map(&:split).count do |fields|
      fields[3] != "0A" && ours.include?(fields[9])
    end
  end

  # Waits for what ends a moment later: a process, or a connection of a client that has left.
  def assert_holds_as_before(before, server)
    limit = now + Patience::SECONDS
    sleep POLL_S until counted(server) == before || now > limit
    assert_equal before, counted(server),
                 "descriptors: #{descriptors(server).map { |link| link.sub(/\[\d+\]/, "") }.tally}"
  end

  def descriptors(server)
    Dir.children("/proc/#{server.pid}/fd").filter_map do |number|
      File.readlink("/proc/#{server.pid}/fd/#{number}")
    rescue SystemCallError
      nil
    end
  end

  # Nothing happened to any client but what `failed` allows.
  # @param failed [Array<String>] ids of requests that may have failed
  def assert_undisturbed(account, failed: [])
    assert_none account["lost"], "connections closed by the server"
    assert_none account["announced"], "connections closed by the server, as it had said"
    assert_none account["wrong"], "answers nobody may get"
    assert_none account["broken"], "no HTTP, or no answer in time"
    assert_none account["failed"].reject { |id, _, _| failed.include?(id) },
                "failed, and not running on a worker that was killed"
  end

  def assert_none(found, what)
    assert_equal 0, found.size, "#{what}, such as #{found.first(8)}"
  end

  def summary(account)
    fates = Account::FATES.map { |fate| "#{fate} #{account[fate.to_s].size}" }
    "#{account["requests"]} requests on #{account["connections"]} connections: " \
      "#{account["statuses"]}; #{fates.join(", ")}"
  end
end

require_relative "account"
