# frozen_string_literal: true

# Tests for races beside code that does not yield: time slices of 1 ms, standby executors, a lane,
# calls that keep their thread, clients that leave, and moments in which each allocation collects.
# Every answer proves itself, whatever has begun ends once, and a hang says where.
# The run is in pieces. Each has a server of its own, and a seed that sets its clients and its
# settings:
#
#   NB_HUNT_SECONDS=3600   for all pieces; default 180       NB_HUNT_PIECE_SECONDS=45   for one
#   NB_HUNT_SEED=123       this piece alone                  NB_HUNT_CLIENTS=24
#   NB_HUNT_MIX=calls      all pieces in this way (StallsHunt::Client::MIXES)

require "json"
require "minitest/autorun"
require "net/http"
require "timeout"
require "tmpdir"
require_relative "../support/rails_application"
require_relative "../support/server_process"
require_relative "../support/services"
require_relative "stalls/client"

class StallsHuntTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("NB_HUNT_SECONDS", "180"), 10)
  PIECE_S = Integer(ENV.fetch("NB_HUNT_PIECE_SECONDS", "45"), 10)
  CLIENTS = Integer(ENV.fetch("NB_HUNT_CLIENTS", "24"), 10)
  SEEDS = if ENV.key?("NB_HUNT_SEED")
            [Integer(ENV["NB_HUNT_SEED"], 10)]
          else
            Array.new([SECONDS / PIECE_S, 1].max) { |n| (Random.new_seed % 1_000_000) + n }
          end
  FOLDER = File.expand_path("stalls", __dir__)
  # What the application brings; Rails' own is its own adapter's.
  GEMS = RailsApplication.pinned("pg", "sequel")
  # What the server must not say; it does tell of stalls, and of requests whose clients have left.
  SAID = /(?: error: | fatal: |\[BUG\]|should not happen|terminated with exception)/
  SUMS = Hash.new(0)
  Minitest.after_run do
    unless SUMS.empty?
      puts "stalls hunt, seeds #{SEEDS.join(" ")}: #{SUMS.sort_by { |name, _| name.to_s }.to_h}"
    end
  end

  # Of what a server has said that did not go on.
  LINES = 250

  # Made once for all pieces.
  def self.application
    @application ||= RailsApplication.new(gemfile: RailsApplication.gemfile(GEMS))
  end

  SEEDS.each do |seed|
    define_method("test_piece_#{seed}") { piece(Random.new(seed), seed) }
  end

  private

  def piece(random, seed)
    @mix = StallsHunt::Client::MIXES.keys.sample(random: random).then do |mix|
      ENV.fetch("NB_HUNT_MIX", mix)
    end
    @rails = @mix == "libraries" || random.rand(3).zero?
    folder = Dir.mktmpdir("neverblock-hunt")
    @admin = "unix://#{folder}/admin"
    settings = settings_of(random)
    puts "seed #{seed}: #{@mix}#{" with Rails" if @rails}, #{PIECE_S} s, #{settings.tr("\n", ";")}"
    serve(folder, settings, stress_s: random.rand(2).zero? ? random.rand(0.2..1.0) : 0) do |server|
      errors = run_clients(server, seed)
      report(server, errors) unless errors.empty?
      assert_at_rest(server)
    end
  ensure
    FileUtils.rm_rf(folder) if folder
  end

  def settings_of(random)
    <<~RUBY
      admin "#{@admin}"
      environment "production"
      executor do
        slice_ms 1
        spares #{random.rand(1..4)}
        stall_ms #{[5, 20, 100].sample(random: random)}
      end
      io_threads #{random.rand(1..2)}
      cancel_on_disconnect true
      timeouts { idle 3_600; header 3_600; body 3_600 }
      route "/lane/*", lane: :thread, at_once: 2
      route "/taken/*", input: :stream
    RUBY
  end

  # --- The server ---

  def serve(folder, settings, stress_s:)
    @witness = File.join(folder, "witness")
    made = @rails ? rails_server(settings, stress_s) : plain_server(folder, settings, stress_s)
    server = made.start
    yield server
    server.stop
    assert_empty server.stderr.lines.grep(SAID).first(20).join
  ensure
    server&.kill
  end

  def environment(stress_s)
    { "NB_HUNT_POSTGRESQL" => Services.postgresql.port.to_s, "NB_HUNT_WITNESS" => @witness,
      "NB_HUNT_STRESS_S" => stress_s.to_s, "NB_HUNT_APP" => File.join(FOLDER, "app") }
  end

  def plain_server(folder, settings, stress_s)
    File.write(file = File.join(folder, "neverblock.rb"), settings)
    ServerProcess.new("require ENV.fetch(\"NB_HUNT_APP\")\nrun StallsHunt::App.new\n",
                      options: ["-C", file], env: environment(stress_s))
  end

  def rails_server(settings, stress_s)
    rails = File.join(FOLDER, "rails")
    write = Dir.glob("**/*", base: rails).select { |path| File.file?(File.join(rails, path)) }
               .to_h { |path| [path, File.read(File.join(rails, path))] }
    write["config/neverblock.rb"] = "bind \"http://127.0.0.1:0\"\n#{settings}"
    database = "#{Services.postgresql.url}?pool=5&checkout_timeout=600"
    env = environment(stress_s).merge("RAILS_LOG_LEVEL" => "error", "DATABASE_URL" => database,
                                      "SECRET_KEY_BASE" => "hunt")
    RailsServer.new(RbConfig.ruby, "-rbundler/setup",
                    File.join(ServerProcess::ROOT, "exe/neverblock"),
                    application: self.class.application, write: write, env: env)
  end

  # --- The clients ---

  # @return [Array<Exception>] of those that have met something
  def run_clients(server, seed)
    limit = now + PIECE_S
    clients = Array.new(CLIENTS) do |n|
      StallsHunt::Client.new(server.url, mix: @mix, rails: @rails,
                             random: Random.new((seed * 1_000) + n), name: "s#{seed}c#{n}")
    end
    failed = Queue.new
    threads = clients.map do |client|
      Thread.new do
        client.run { now < limit && failed.empty? }
      rescue StandardError => e
        failed << e
      end
    end
    state = nil
    until threads.none?(&:alive?)
      sleep(0.05)
      # The state is read while the other clients still wait: their requests end when they leave.
      state ||= state_of(server) if failed.size.positive? && server.running?
    end
    @state = state || ["none was had: all clients had ended, or the server"]
    clients.each { |client| client.counts.each { |what, count| SUMS[what] += count } }
    SUMS[:requests] += clients.sum { |client| client.counts.values.sum }
    Array.new(failed.size) { failed.pop }
  end

  # All that there is to be had of a server that does not answer, or wrongly.
  def report(server, errors)
    running = server.running?
    SUMS[:failures] += errors.size
    said = errors.first(5).map do |error|
      "#{error.class}: #{error.message} at #{error.backtrace.first(4).join(" ")}"
    end
    said.push("the server has ended: #{server.status.inspect}") unless running
    said.push("--- the server said", *last_words(server))
    said.concat(@state)
    flunk said.join("\n")
  end

  # @return [Array<String>]
  def state_of(server)
    ["--- its threads and fibers", threads_of_ruby, "--- its status", status,
     "--- its native threads", native_threads(server.pid), "--- its status now", status]
  end

  def admin(path)
    Wire::Client.open(@admin) { |wire| wire.get(path) && wire.response.body }
  end

  def status
    admin("/status.json")
  rescue Wire::Error, SystemCallError => e
    e.inspect
  end

  # A report of Ruby's ends with pages of loaded files.
  def last_words(server)
    lines = server.stderr.lines(chomp: true)
    bug = lines.index { |line| line.include?("[BUG]") }
    bug ? lines[bug, LINES] : lines.last(LINES)
  end

  def threads_of_ruby
    Timeout.timeout(20) { UNIXSocket.open(@witness, &:read) }
  rescue SystemCallError, Timeout::Error => e
    "no Ruby thread answers: #{e.inspect}"
  end

  def native_threads(pid)
    IO.popen(["gdb", "-p", pid.to_s, "-batch", "-ex", "thread apply all backtrace 30"],
             err: %i[child out], &:read)
  rescue SystemCallError
    Dir.glob("/proc/#{pid}/task/*/{comm,wchan}").map { |file| "#{file}: #{File.read(file)}" }
       .join("\n")
  end

  # --- Afterwards ---

  # All that has begun has ended, all that was queued was taken, and nothing is left of what was
  # undone.
  def assert_at_rest(server)
    books = nil
    Patience.await("all requests have ended", -> { books.inspect }) do
      books = told(server)
      counts = books["counts"]
      %w[requests bodies].all? { |what| counts["#{what} begun"] == counts["#{what} ended"] } &&
        counts["finished"] == counts["requests ended"]
    end
    note_sums(books)
    assert_empty books["faults"]
    uneven = books["counts"].select do |name, count|
      name.end_with?(" begun") && count != books["counts"][name.sub("begun", "ended")]
    end
    assert_equal [{}, 0, 0, 0], [uneven, books["counts"]["queued"].to_i,
                                 books["counts"]["queued in turn"].to_i, books["rows"]]
  end

  def told(server)
    JSON.parse(Net::HTTP.get(URI("#{server.url}/books")))
  end

  def note_sums(books)
    metrics = admin("/metrics")
    helped = metrics.scan(/^neverblock_executor_helped_total\S* (\d+)/).sum { |count,| count.to_i }
    sums = { preemptions: books["preemptions"], "hand-overs": helped,
             "lock hand-offs": books["lock_handoffs"],
             "windows of GC.stress": books["counts"]["windows of GC.stress"].to_i }
    sums.each { |name, count| SUMS[name] += count }
    puts "  #{sums}, #{SUMS[:requests]} requests so far"
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
