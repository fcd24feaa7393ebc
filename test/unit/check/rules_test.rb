# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/check"
require "neverblock/check/inspection"
require "neverblock/config/settings"
require "tempfile"

# Families of rules one by one, against a machine, a Ruby and settings that are made up.
class CheckRulesTest < Minitest::Test
  Check = NeverBlock::Check
  Rules = Check::Rules

  def subject(app: nil, **settings)
    bundle = Check::Bundle.new(Dir.pwd)
    Check::Subject.new(NeverBlock::Config::Settings.new(command: settings), bundle)
      .tap { |made| made.app = app }
  end

  def rules(findings)
    findings.to_h { |finding| [finding.rule, finding.level] }
  end

  # --- Ruby

  Compiler = Struct.new(:enabled?)

  def test_old_rubies_are_told_with_what_they_do_not_have
    found = Rules::Ruby.call(nil, version: "3.1.2", yjit: Compiler.new(true))
    assert_equal({ "ruby" => :warning, "ruby-files" => :note }, rules(found))
    assert_match(/Ruby 3\.1\.2 has weaknesses/, found.first.seen)
  end

  def test_a_ruby_without_faults_is_not_told
    assert_empty Rules::Ruby.call(nil, version: "3.4.11", yjit: Compiler.new(true))
  end

  def test_yjit_that_is_off_and_cannot_be_switched_on_later_is_told
    found = Rules::Ruby.call(nil, version: "3.4.11", yjit: Compiler.new(false))
    assert_equal({ "yjit" => :note }, rules(found))
  end

  # --- System

  class Limits
    def check_fibers
      raise NeverBlock::StartError,
            "1024 fibers need about 9 memory maps, vm.max_map_count is 8: use -f 1 or fewer"
    end

    def raise_descriptors
      ["64 descriptors are allowed; 10000 connections with 1024 requests may need 11152: " \
       "raise the hard limit (ulimit -Hn 11152)"]
    end

    def tight_memory(_workers)
      ["1024 fibers need at least 18 MB; the control group allows 8 MB, " \
       "and the kernel kills processes above it: use fewer -f"]
    end
  end

  def test_limits_of_the_machine_are_told_with_the_mend_that_the_server_names
    found = Rules::System.call(subject, limits: Limits.new, status: status_file("Seccomp:\t0\n"))
    assert_equal(
      { "max-map-count" => :serious, "descriptors" => :warning, "memory" => :serious },
      rules(found)
    )
    assert_equal ["raise the hard limit (ulimit -Hn 11152)", "use fewer -f"],
                 found.last(2).map(&:mend)
  end

  def test_a_filter_of_system_calls_is_told_and_what_it_refuses
    limits = NeverBlock::Boot::Limits.new(subject.config)
    NeverBlock.stub(:calls_refused, %w[openat2 statx]) do
      status = status_file("Name:\truby\nSeccomp:\t2\n")
      found = Rules::System.call(subject, limits: limits, status: status)
        .find { |finding| finding.rule == "seccomp" }
      assert_equal :warning, found.level
      assert_includes found.seen, "openat2, statx"
    end
    NeverBlock.stub(:calls_refused, []) do
      found = Rules::System.call(subject, limits: limits, status: status_file("Seccomp:\t2\n"))
      assert_equal :note, rules(found)["seccomp"]
    end
  end

  # --- Acme

  def acme(binds, **words)
    words = { folder: "/tmp", **words }
    subject(bind: binds.map { |url| NeverBlock::Config::Bind.parse(url) },
            "tls.acme": [NeverBlock::Config::Acme.new(%w[a.test], **words)])
  end

  def test_without_acme_nothing_is_told_of_it
    assert_empty Rules::Acme.call(subject, missing: -> { flunk("it was asked") })
    assert_empty Rules::Acme.call(acme(%w[http://a:80 https://a:443]), missing: -> {})
  end

  def test_what_acme_lacks_is_told_with_the_mend
    found = Rules::Acme.call(acme(%w[http://a:80], challenge: :http_01),
                             missing: -> { NeverBlock::TLS::Acme.missing(-> { raise LoadError }) })
    assert_equal({ "acme-gem" => :serious, "acme-address" => :serious }, rules(found))
    assert_equal ["add it to the Gemfile: gem \"acme-client\"",
                  "bind one without cert=FILE: https://0.0.0.0:443"], found.map(&:mend)
    found = Rules::Acme.call(acme(%w[https://a:443], challenge: :http_01), missing: -> {})
    assert_equal({ "acme-address" => :serious }, rules(found))
    assert_equal "bind one: http://0.0.0.0:80", found.first.mend
    found = Rules::Acme.call(acme(%w[https://a:443]), missing: -> {})
    assert_equal({ "acme-plain" => :note }, rules(found))
  end

  def test_a_certificate_that_is_still_to_be_issued_is_no_finding
    Dir.mktmpdir do |folder|
      one = acme(%w[http://a:80 https://127.0.0.1:443], folder: folder)
      assert_empty Rules::Certificates.call(one)
      assert_empty Dir.children(folder)
    end
  end

  def test_a_folder_of_acme_that_cannot_be_written_to_is_told_and_not_made
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "file"), "")
      { "file" => %w[acme-folder], "new/deep" => [] }.each do |name, expected|
        one = acme(%w[http://a:80 https://a:443], folder: File.join(folder, name))
        found = Rules::Acme.call(one, missing: -> {})
        assert_equal expected, found.map(&:rule)
      end
      assert_equal %w[file], Dir.children(folder)
    end
  end

  # --- Addresses

  Machine = Struct.new(:names, :own) do
    def of(host) = names.fetch(host) { raise SocketError, "getaddrinfo: Name or service not known" }
    def here?(address) = own.include?(address)
  end

  def test_where_the_server_cannot_listen_or_not_everywhere_is_told
    names = {
      "localhost" => %w[127.0.0.1 ::1], "app" => %w[192.0.2.9], "127.0.0.1" => %w[127.0.0.1]
    }
    machine = Machine.new(names, %w[127.0.0.1])
    binds = %w[
      http://127.0.0.1:80 http://localhost:80 http://app:80 http://none:80 unix:///run/x.sock
    ].map { |url| NeverBlock::Config::Bind.parse(url) }
    found = Rules::Addresses.call(subject(bind: binds), addresses: machine)
    assert_equal [:note, :serious, :serious], found.map(&:level)
    assert_match(
      %r{http://localhost:80 listens only on 127\.0\.0\.1: localhost also means ::1,},
      found[0].seen
    )
    assert_match(
      %r{does not start: http://app:80 means 192\.0\.2\.9, and this machine has no such address},
      found[1].seen
    )
    assert_match(
      %r{does not start: the host of http://none:80 has no address \(Name or service not known\)},
      found[2].seen
    )
  end

  def test_a_machine_with_all_the_addresses_is_not_told_of_them
    machine = Machine.new({ "localhost" => %w[127.0.0.1 ::1] }, %w[127.0.0.1 ::1])
    bind = NeverBlock::Config::Bind.parse("http://localhost:80")
    assert_empty Rules::Addresses.call(subject(bind: [bind]), addresses: machine)
    assert_empty Rules::Addresses.call(subject), "the default"
  end

  # --- Build and settings

  def test_what_was_left_out_at_build_time_is_told
    without = { preadv2: false, poller: false, tls: false, gzip: false, http2: false }
    assert_equal %w[build-preadv2 build-poller build-tls build-gzip build-http2],
                 Rules::Build.call(nil, without).map(&:rule)
    built = NeverBlock.built
    return unless RUBY_PLATFORM.include?("linux-gnu") && built.values_at(:tls, :gzip, :http2).all?

    assert_empty Rules::Build.call(nil, built).map(&:rule)
  end

  def test_a_build_without_tls_is_serious_where_an_address_needs_it
    found = Rules::Build.call(subject, { tls: false }).first
    assert_equal [:note, "build-tls"], [found.level, found.rule]
    assert_match(/libssl-dev\), and install the gem again/, found.mend)
    bind = NeverBlock::Config::Bind.parse("https://127.0.0.1:443")
    assert_equal :serious, Rules::Build.call(subject(bind: [bind]), { tls: false }).first.level
  end

  def test_a_kernel_without_tls_is_a_note_where_an_address_would_use_it
    skip "of Linux" unless RUBY_PLATFORM.include?("linux")
    built = { tls: true }
    bind = NeverBlock::Config::Bind.parse("https://127.0.0.1:443")
    none = -> { false }
    found = Rules::Build.call(subject(bind: [bind]), built, kernel: none)
    assert_equal({ "kernel-tls" => :note }, rules(found))
    assert_match(/modprobe tls/, found.first.mend)
    assert_empty Rules::Build.call(subject(bind: [bind]), built, kernel: -> { true })
    assert_empty Rules::Build.call(subject(bind: [bind], "tls.ktls": false), built, kernel: none)
    assert_empty Rules::Build.call(subject, built, kernel: none)
  end

  def test_a_build_without_zlib_is_serious_where_responses_are_compressed
    found = Rules::Build.call(subject, { gzip: false }).first
    assert_equal [:note, "build-gzip"], [found.level, found.rule]
    found = Rules::Build.call(subject(compress: true), { gzip: false }).first
    assert_equal :serious, found.level
  end

  def test_workers_for_the_cpus
    assert_match(
      /may use 8 CPUs/, Rules::Settings.call(subject(workers: 1), processors: 8).first.seen
    )
    assert_match(
      /40 workers share 2 CPUs/,
      Rules::Settings.call(subject(workers: 40), processors: 2).first.seen
    )
    assert_empty Rules::Settings.call(subject(workers: 4), processors: 4)
  end

  def test_addresses_that_the_environment_replaces_are_a_note
    file = { bind: [NeverBlock::Config::Bind.parse("unix:///run/x.sock")] }
    environment = NeverBlock::Config::Environment.new({ "PORT" => "2" })
    settings = NeverBlock::Config::Settings.new(environment: environment, file: file)
    found = Rules::Settings.call(Check::Subject.new(settings, nil), processors: 1)
    assert_equal({ "bind" => :note }, rules(found))
    assert_equal "PORT replaces bind unix:///run/x.sock of config/neverblock.rb", found[0].seen
    assert_equal "write -b, or unset PORT", found[0].mend
  end

  def test_a_hook_that_one_process_does_not_call_is_a_note
    found = Rules::Settings.call(subject(before_fork: [proc {}]), processors: 1)
    assert_match(/\Abefore_fork \(\S+:\d+\) is not called: nothing is forked/, found[0].seen)
    hooks = subject(before_fork: [proc {}], workers: 2)
    assert_empty Rules::Settings.call(hooks, processors: 2)
    assert_empty Rules::Settings.call(subject(after_fork: [proc {}]), processors: 1)
  end

  def test_what_cooperative_costs_is_told
    found = Rules::Settings.call(subject(cooperative: true), processors: 1)
    assert_equal({ "cooperative" => :note }, rules(found))
  end

  # --- Layers

  Middleware = Struct.new(:app) do
    def initialize(app)
      super
      @app = app
    end

    def call(env) = @app.call(env)
  end

  def test_middleware_inside_of_other_middleware_is_found
    require "rack/lock"
    app = Middleware.new(Middleware.new(Rack::Lock.new(->(_env) {})))
    assert_equal({ "rack-lock" => :serious }, rules(Rules::Layers.call(subject(app: app))))
    assert_empty Rules::Layers.call(subject(app: Middleware.new(->(_env) {})))
  end

  def test_middleware_that_compresses_is_a_note
    require "rack/deflater"
    found = Rules::Layers.call(subject(app: Middleware.new(Rack::Deflater.new(->(_env) {}))))
    assert_equal({ "rack-deflater" => :note }, rules(found))
  end

  def test_a_ring_of_middleware_ends
    app = Middleware.new(nil)
    app.instance_variable_set(:@app, app)
    assert_empty Rules::Layers.call(subject(app: app))
  end

  # --- all

  def test_a_family_that_fails_is_a_note_and_the_others_go_on
    bad = Module.new { def self.call(_subject) = raise("no such thing") }
    good = Module.new { def self.call(_subject) = [Check::Finding.of(:warning, "x", "seen")] }
    NeverBlock.const_set(:BadFamily, bad)
    found = Rules.of([bad, good], subject)
    assert_equal({ "check" => :note, "x" => :warning }, rules(found))
    assert_match(
      /rules about badfamily have failed: no such thing \(RuntimeError\) at /, found.first.seen
    )
  ensure
    NeverBlock.send(:remove_const, :BadFamily)
  end

  def test_a_family_may_fail_with_any_message
    { "no \xFF" => "no ?", "caf\u00E9".encode("ISO-8859-1") => "caf\u00E9" }.each do |said, told|
      bad = Module.new { define_singleton_method(:call) { |_| raise(said) } }
      bad.define_singleton_method(:name) { "Rules::Bad" }
      assert_includes Rules.of([bad], nil).first.seen, "the rules about bad have failed: #{told} ("
    end
  end

  def test_every_rule_has_its_place_in_the_guide
    files = Dir[File.expand_path("../../../lib/neverblock/check/**/*.rb", __dir__)]
    level = /level|:serious|:warning|:note/
    named = /(?:(?:Finding\.of\(|split\(|\[)(?:#{level}), |\["3\.4", )"([a-z][a-z0-9-]+)"/
    names = files.flat_map { |file| File.read(file).scan(named).flatten }
    guide = File.read(File.expand_path("../../../#{Check::GUIDE}", __dir__))
    headings = guide.scan(/^###? (\S+)$/).flatten
    assert_operator names.uniq.size, :>, 25
    assert_empty names.uniq - headings
  end

  private

  def status_file(text)
    (@file = Tempfile.new("status")).tap { |file| file.write(text) && file.close }.path
  end
end
