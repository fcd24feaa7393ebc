# frozen_string_literal: true

# A new version in the place of the old one, under requests that run: HUP at the front, and what a
# version that does not boot changes (nothing).

require "fileutils"
require "json"
require "open3"
require_relative "../support/http_client"
require_relative "../support/self_signed_certificate"
require_relative "../support/tls_client"
require_relative "../support/workers_case"

class WorkersReloadTest < WorkersCase
  def test_new_workers_with_new_code_take_over_and_a_request_that_runs_ends_in_the_old_one
    Gate.open do |gate|
      serve(version(1, gate)) do |server|
        old = processes(server, "worker") + processes(server, "mold")
        held = Thread.new { get(server, "/held") }
        inside = gate.arrival
        HTTPClient.open(server.url) do |http|
          assert_equal "1", http.get("/").body
          write(server, version(2, gate))
          reload(server)
          assert_equal "2", http.get("/").body
        end
        inside.close
        assert_equal "1", held.value
        old.each { |pid| await("#{pid} to be gone", server) { gone?(pid) } }
        assert_equal %w[2 2 2], Array.new(3) { get(server) }
        assert_equal [1, 2], [processes(server, "mold").size, processes(server, "worker").size]
        refute_match(/error|warning/, server.stderr)
      end
    end
  end

  def test_while_old_workers_end_each_series_of_the_metrics_is_there_once
    Gate.open do |gate|
      app = "POOL = NB::Pool::FiberedConnectionPool.new { Object.new }\n#{version(1, gate)}"
      serve(app, options: %w[--admin http://127.0.0.1:0]) do |server|
        held = Thread.new { get(server, "/held") }
        inside = gate.arrival
        reload(server)
        series = admin(server, "/metrics").grep_v(/\A#/).map { |line| line.rpartition(" ").first }
        assert_empty series.tally.reject { |_, count| count == 1 }
        %w[executor_fibers_limit worker_resident_memory_bytes].product([0, 1]) do |name, number|
          assert_includes series, "neverblock_#{name}{executor=\"#{number}\"}"
        end
        assert_equal 2, series.grep(/\Aneverblock_pool_size\{.*worker="[01]"\}/).size
        executors = JSON.parse(admin(server, "/status.json").join)["executors"]
        old, new = executors.partition { |one| one["retiring"] }
        assert_equal [1, [0, 1]], [old.sum { |one| one["running"] }, new.map { |one|
          one["id"]
        }.sort]
        inside.close
        assert_equal "1", held.value
      end
    end
  end

  def test_no_request_fails_and_no_connection_closes_over_ten_reloads
    serve do |server|
      before = server.open_descriptors
      stop = false
      clients = Array.new(4) { Thread.new { clients_answers(server) { stop } } }
      10.times { |count| reload(server, count + 1) }
      stop = true
      answers = clients.map(&:value)
      assert_equal [[200]] * 4, answers.map(&:uniq)
      await("the old ones to be gone", server) do
        processes(server, "worker").size == 2 && processes(server, "mold").size == 1
      end
      await("their descriptors to be closed", server) { server.open_descriptors <= before }
    end
  end

  # Half of the places are for the workers of a reload. Those of a second one find none while the
  # first workers have not ended.
  def test_with_as_many_threads_of_a_lane_as_fit_a_reload_loses_no_worker
    with_threads_of_a_lane(workers: 4, at_once: 64) do |server|
      first = processes(server, "worker")
      first.each { |pid| Process.kill(:STOP, pid) }
      reload(server)
      second = processes(server, "worker") - first
      Process.kill("HUP", server.pid)
      server.await_stderr(/error: the reload has failed: there is no place for a new worker/)
      assert_includes second, pid_from(server, "/lane/")
      first.each { |pid| Process.kill(:CONT, pid) }
      first.each { |pid| await("#{pid} to be gone", server) { gone?(pid) } }
      assert_equal second.sort, processes(server, "worker").sort
      reload(server)
      refute_includes first + second, pid_from(server, "/lane/")
      refute_match(/warning|cannot serve/, server.stderr)
    end
  end

  def test_lane_rules_that_the_new_version_does_not_have_end_with_the_old_one
    app = "run ->(env) { [200, {}, [Thread.current.name]] }\n"
    serve(<<~RACKUP + app) do |server|
      rule = NeverBlock::LaneRules::Rule.new(["ALL"], "/", true, "GET /")
      NeverBlock::LaneRules.rules = [rule]
    RACKUP
      assert_match(/\Anb-lane/, get(server))
      write(server, app)
      reload(server)
      assert_match(/\Anb-executor/, get(server))
    end
  end

  {
    "raise 'no such table'\n" => Regexp.new(
      'the reload has failed: config\.ru:1: no such table \(RuntimeError\); ' \
      "nothing has changed, the old version still serves"
    ),
    "Process.kill(:KILL, Process.pid)\n" => Regexp.new(
      "the reload has failed: the process that loads the application was killed by SIGKILL " \
      "before it had loaded it"
    ),
    "run(\n" => /the reload has failed: config\.ru:\d: syntax error/
  }.each do |text, words|
    define_method("test_a_version_that_does_not_load changes nothing: #{text.strip}") do
      serve do |server|
        before = processes(server, "worker") + processes(server, "mold")
        write(server, text)
        Process.kill("HUP", server.pid)
        server.await_stderr(words)
        await("the new mold to be gone", server) { processes(server, "mold").size == 1 }
        assert_equal before.sort, (processes(server, "worker") + processes(server, "mold")).sort
        assert_includes before, pid_from(server)
        write(server, HELLO)
        reload(server)
        refute_includes before, pid_from(server)
      end
    end
  end

  def test_a_configuration_file_is_read_again_and_what_the_front_keeps_is_named
    Dir.mktmpdir do |directory|
      file = File.join(directory, "neverblock.rb")
      File.write(file, "fibers 3\n")
      serve(options: ["-C", file]) do |server|
        File.write(file, "fibers 5\ntimeouts { idle 7 }\n" \
                         "after_fork { |number| $stderr.puts \"hook \#{number}\" }\n")
        reload(server)
        server.await_stderr(/hook 1/)
        kept = /the front has these settings and keeps their old values/
        server.await_stderr(/warning: the new configuration differs in timeouts idle: #{kept}/)
        File.write(file, "fibres 5\n")
        Process.kill("HUP", server.pid)
        server.await_stderr(
          /the reload has failed: .*neverblock\.rb:1: unknown setting fibres; did you mean fibers\?/
        )
        assert_match(/\A\d+\z/, get(server))
      end
    end
  end

  # How a server is started in a release: words before the command, and its own, by the link.
  # systemd sets no PWD.
  STARTS = {
    "in the link, by a shell" => ->(current) { [["env", "-C", current, "PWD=#{current}"], []] },
    "in the link, by systemd" => ->(current) { [["env", "-C", current, "-u", "PWD"], []] },
    "elsewhere, with the rackup file by the link" => lambda { |current|
      [["env", "-C", File.realpath(current), "-u", "PWD"], [File.join(current, "config.ru")]]
    },
    "elsewhere, with directory in a configuration file" => lambda { |current|
      file = File.join(File.dirname(current), "neverblock.rb")
      File.write(file, "directory #{File.join(File.dirname(current), "live").dump}\n")
      [["env", "-C", "/", "-u", "PWD"], ["-C", file]]
    }
  }.freeze

  # As deployments do: `current` is a link to the release.
  STARTS.each do |how, start|
    define_method("test_a_reload_goes_to_where_the_link_leads_by_then: #{how}") do
      assert_followed(start)
    end
  end

  def assert_followed(start)
    in_first_release(start) do |server, current|
      assert_equal "1", get(server)
      deploy(current)
      reload(server)
      assert_equal "2", get(server)
    end
  end

  # Of the old release nothing is left by then.
  def test_so_does_a_certificate_that_is_named_by_a_relative_path
    certificates = %w[1 2].to_h { |name| [name, SelfSignedCertificate.new] }
    files = certificates.transform_values { |one| { "tls.pem" => one.pem + one.key_pem } }
    in_first_release(STARTS.fetch("in the link, by systemd"), files: files,
                     binds: ["https://127.0.0.1:0?cert=tls.pem"]) do |server, current|
      assert_equal certificates["1"].pem, certificate_of(server)
      deploy(current)
      Process.kill("HUP", server.pid)
      server.await_stderr(/serves the certificate of .*tls\.pem/)
      assert_equal certificates["2"].pem, certificate_of(server)
    end
  end

  def certificate_of(server)
    client = TLSClient.new(server.url)
    client.socket.peer_cert.to_pem
  ensure
    client&.close
  end

  STARTS.each do |how, start|
    define_method("test_so_do_the_restart_file_and_solid_queue: #{how}") do
      in_first_release(start, env: { "SOLID_QUEUE_IN_NEVERBLOCK" => "1" }) do |server, current|
        server.await_stderr(/^jobs of 1 in #{File.dirname(current)}/)
        deploy(current)
        server.await_stderr(/^jobs of 2 in #{File.dirname(current)}/)
        FileUtils.touch(File.join(current, "tmp/restart.txt"))
        server.await_stderr(/info: reloaded/)
        assert_equal "2", get(server)
      end
    end
  end

  def test_a_gemfile_that_changed_counts_for_the_new_version
    Dir.mktmpdir do |directory|
      %w[1.0 2.0].each { |number| make_gem(directory, number) }
      lock(directory, "1.0")
      app = "require 'nb_sample'\nrun ->(env) { [200, {}, [NbSample::VERSION]] }\n"
      server = BundledProcess.new(app, options: %w[-w 2], env: bundle(directory)).start
      assert_equal "1.0", get(server)
      lock(directory, "2.0")
      reload(server)
      assert_equal "2.0", get(server)
      lock(directory, "3.0", make: false)
      Process.kill("HUP", server.pid)
      server.await_stderr(/the reload has failed: the gems of .*nb_sample/m)
      assert_equal "2.0", get(server)
    ensure
      server&.stop
    end
  end

  BIND = (Over.mode == :plain ? %w[-p 0] : ["-b", Over.bind("http://0.0.0.0:0")]).freeze

  # The command in a folder of its own, whose rackup file it finds.
  class ReleaseProcess < ServerProcess
    private

    def words(_rackup)
      executable = File.join(ROOT, "exe/neverblock")
      binds = @binds.flat_map { |url| ["-b", url] }
      [RbConfig.ruby, "-I", File.join(ROOT, "lib"), executable, *binds, *@options]
    end
  end

  # As `bundle exec` starts it.
  class BundledProcess < ServerProcess
    private

    def words(rackup)
      [RbConfig.ruby, File.join(ROOT, "exe/neverblock"), rackup, *BIND, *@options]
    end
  end

  private

  def admin(server, path)
    Wire::Client.open(server.admin_url) do |client|
      client.get(path)
      client.response.body.lines(chomp: true)
    end
  end

  def version(number, gate)
    "require 'socket'\nrun ->(env) { #{gate.wait_expression} if env['PATH_INFO'] == '/held'; " \
      "[200, {}, ['#{number}']] }\n"
  end

  def with_threads_of_a_lane(at_once:, **others, &block)
    Dir.mktmpdir do |directory|
      file = File.join(directory, "neverblock.rb")
      File.write(file, "route '/lane/*', lane: :thread, at_once: #{at_once}\n")
      serve(options: ["-C", file], **others, &block)
    end
  end

  def write(server, text)
    File.write(server.in_directory("config.ru"), text)
  end

  # @param count [Integer] which reload of this server it is
  def reload(server, count = nil)
    count ||= server.stderr.scan("info: reloaded").size + 1
    Process.kill("HUP", server.pid)
    await("reload #{count}", server) { server.stderr.scan("info: reloaded").size >= count }
  end

  # Statuses of requests on one connection, until the block is true; fails when it closes.
  def clients_answers(server)
    statuses = []
    server.connect do |client|
      until yield
        client.get("/")
        statuses << client.response.status
      end
    end
    statuses
  end

  # @yieldparam server [ServerProcess]
  # @yieldparam current [String] the link to the release
  def in_first_release(start, files: {}, **options)
    Dir.mktmpdir do |directory|
      %w[1 2].each { |name| release(directory, name, files.fetch(name, {})) }
      current = File.join(directory, "current")
      File.symlink("releases/1", current)
      File.symlink("current", File.join(directory, "live"))
      wrap, words = start.call(current)
      server = ReleaseProcess.new("", options: ["-w", "2", *words], wrap: wrap, **options).start
      yield server, current
    ensure
      server&.stop
    end
  end

  # With the parts of a Rails application that a server looks at.
  def release(directory, name, files)
    folder = File.join(directory, "releases", name)
    {
      "config.ru" => "run ->(env) { [200, {}, ['#{name}']] }\n",
      "config/application.rb" => "",
      "bin/jobs" => "warn \"jobs of #{name} in \#{ENV.fetch('PWD')}\"\n",
      **files
    }.each do |file, text|
      path = File.join(folder, file)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, text)
    end
    FileUtils.mkdir_p(File.join(folder, "tmp"))
  end

  def deploy(current)
    File.symlink("releases/2", "#{current}.new")
    File.rename("#{current}.new", current)
    FileUtils.rm_rf(File.join(File.dirname(current), "releases/1"))
  end

  def make_gem(directory, number)
    folder = File.join(directory, "nb_sample-#{number}")
    FileUtils.mkdir_p(File.join(folder, "lib"))
    File.write(File.join(folder, "lib/nb_sample.rb"),
               "module NbSample; VERSION = '#{number}'; end\n")
    File.write(File.join(folder, "nb_sample.gemspec"), <<~RUBY)
      Gem::Specification.new do |s|
        s.name = "nb_sample"
        s.version = "#{number}"
        s.summary = "a sample"
        s.authors = ["test"]
        s.files = ["lib/nb_sample.rb"]
      end
    RUBY
  end

  # A Gemfile without any other source than this machine.
  def lock(directory, number, make: true)
    File.write(File.join(directory, "Gemfile"),
               "gem 'rack'\ngem 'nb_sample', path: '#{directory}/nb_sample-#{number}'\n")
    FileUtils.rm_f(File.join(directory, "Gemfile.lock"))
    return unless make

    env = bundle(directory).merge("RUBYOPT" => nil)
    output, status = Open3.capture2e(env, "bundle", "lock", "--local")
    assert_predicate status, :success?, output
  end

  def bundle(directory)
    setup = Gem.find_files("bundler/setup.rb").first || "bundler/setup"
    {
      "BUNDLE_GEMFILE" => File.join(directory, "Gemfile"),
      "RUBYOPT" => "-r#{setup.delete_suffix(".rb")}",
      "RUBYLIB" => nil, "BUNDLE_PATH" => nil, "BUNDLE_FROZEN" => nil,
      # Of Bundler 4: the caller's own, which would be written over.
      "BUNDLE_LOCKFILE" => nil
    }
  end
end
