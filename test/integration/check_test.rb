# frozen_string_literal: true

# `neverblock check` as its users run it, on small real applications: plain Rack, Sinatra, Sequel,
# Rails in one file, and on what is no application.

require "minitest/autorun"
require "json"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "../support/server_process"

class CheckTest < Minitest::Test
  ROOT = ServerProcess::ROOT
  COMMAND = [RbConfig.ruby, File.join(ROOT, "exe/neverblock"), "check"].freeze

  HELLO = "run ->(_env) { [200, {}, ['hello']] }\n"

  def test_an_application_without_faults_is_checked_with_status_0_and_told_of_in_lines_that_fit
    out, err, status = check(HELLO)
    assert_equal [0, ""], [status, err]
    loaded = /config\.ru \(development\), ruby #{RUBY_VERSION}/
    room = /1 process with up to 1024 requests at once/
    assert_match(/\ANeverBlock \S+ checked #{loaded}, #{room}, \d+ gems/, out)
    assert_match(/^nothing serious, \d+ warnings?, \d+ notes?; guides are in #{ROOT}$/, out)
    assert_operator out.lines.drop(1).map { |line| line.chomp.length }.max, :<=, 125
  end

  def test_the_options_of_serve_are_taken_and_the_environment_is_set
    out, = check("raise ENV['RACK_ENV']\n", words: %w[-e production -w 3 -f 200])
    assert_match(/\(production\).*3 processes with up to 200 requests at once/, out)
    assert_match(/config\.ru:1: production \(RuntimeError\)/, out)
  end

  # Text of config.ru, or nil => what is said.
  NO_APPLICATION = {
    nil => /\Athe application cannot be loaded: there is no config\.ru in /,
    "run ->(env) {\n" => /config\.ru:\d+: syntax error/,
    "raise 'no database here'\n" => /config\.ru:1: no database here \(RuntimeError\)/,
    "puts 'no licence'\nexit 3\n" =>
      Regexp.new('\Athe application ended the process \(exit 3 at .*config\.ru:2.*\) ' \
                 'while loading the application; its output: no licence\z')
  }.freeze

  NO_APPLICATION.each_with_index do |(text, pattern), number|
    define_method("test_what_is_no_application_is_a_finding_and_status_1_#{number}") do
      report, status = json(text)
      assert_equal 1, status
      finding = report["findings"].first
      assert_equal %w[serious application], finding.values_at("level", "rule")
      assert_match pattern, finding["seen"]
      assert_operator report["findings"].size, :>, 1,
                      "what needs no application is looked at all the same"
    end
  end

  def test_an_application_that_never_comes_back_is_given_up
    report, status = json("def wait_for_it = sleep\nwait_for_it\n", words: %w[--patience 5])
    assert_equal 1, status
    assert_match(
      /\Athere was no progress for 5 s at .*wait_for_it.* while loading the application\z/,
      report["findings"].first["seen"]
    )
  end

  def test_a_gemfile_that_is_not_installed_is_told_and_its_lock_file_is_read
    lock = <<~LOCK
      GEM
        remote: https://gems.example/
        specs:
          no_such_gem_of_ours (1.0)
          rack-timeout (0.6.3)

      PLATFORMS
        ruby

      DEPENDENCIES
        no_such_gem_of_ours
        rack-timeout
    LOCK
    gems = "source 'https://gems.example'\ngem 'rack-timeout'\ngem 'no_such_gem_of_ours'\n"
    files = { "Gemfile" => gems, "Gemfile.lock" => lock }
    report, status = json("require 'bundler/setup'\n#{HELLO}", files: files, under_bundler: false)
    assert_equal [1, 2], [status, report["serious"]]
    assert_equal(%w[application gem-rack-timeout],
                 report["findings"].first(2).map { |finding| finding["rule"] }.sort)
    assert_includes(report["findings"].map { |finding| finding["mend"] }, "bundle install")
  end

  def test_a_lock_file_with_gems_of_folders_is_read_from_any_folder
    lock = "PATH\n  remote: ../part\n  specs:\n    part (1.0)\n\n" \
           "PLATFORMS\n  ruby\n\nDEPENDENCIES\n  part!\n"
    files = { "app/Gemfile" => "gem 'part', path: '../part'\n", "app/Gemfile.lock" => lock,
              "app/config.ru" => HELLO }
    report, status = json(nil, words: %w[app/config.ru], files: files, under_bundler: false)
    assert_equal 0, status, report["findings"].first["seen"]
    assert_equal "Gemfile.lock", File.basename(report["lock"])
    refute_includes(report["findings"].map { |finding| finding["rule"] }, "lock-file")
  end

  def test_a_gem_that_is_missing_is_told_with_one_mend
    report, = json("require 'no_such_library_here'\n#{HELLO}")
    missing = /cannot load such file -- no_such_library_here/
    assert_match(/config\.ru:1: #{missing}.*add it to the Gemfile/,
                 report["findings"].first["seen"])
    assert_nil report["findings"].first["mend"]
  end

  def test_what_the_application_writes_is_shown_when_asked_for
    out, err, = check("puts 'loading'\nwarn 'with a warning'\n#{HELLO}", env: { "NB_DEBUG" => "1" })
    assert_equal "loading\nwith a warning\n", err
    refute_includes out, "loading"
  end

  def test_other_encodings_of_the_locale
    out, err, = check("puts \"caf\u00E9\"\nexit 3\n",
                      env: { "RUBYOPT" => "-EISO-8859-1 -rbundler/setup" })
    assert_empty err
    assert_match(/config\.ru:2:.* while\s+loading.*; its\s+output: caf\u00E9\.$/m, out)
  end

  def test_a_wrong_setting_is_one_line_and_status_1
    out, err, status = check(HELLO, files: { "config/neverblock.rb" => "fibres 3\n" })
    assert_equal ["", 1], [out, status]
    assert_match(/\Aneverblock: .*neverblock\.rb:1: .*fibres.*\n\z/, err)
  end

  def test_more_lanes_than_there_may_be_are_one_line_and_status_1
    text = "31.times { |number| route \"/l\#{number}\", lane: :thread }\n"
    out, err, status = check(HELLO, files: { "config/neverblock.rb" => text })
    assert_equal ["", 1], [out, status]
    assert_match(%r{\Aneverblock: route "/l30": at most 30 routes with lane: :thread .*\n\z}, err)
  end

  def test_a_path_that_was_meant_for_the_probe_is_told_so
    out, err, status = check(HELLO, words: %w[--probe /reports])
    told = "neverblock: --probe takes its paths after an equals sign: --probe=/reports\n"
    assert_equal ["", told, 1], [out, err, status]
  end

  def test_sinatra_with_the_state_of_a_request_in_the_wrong_places
    report, status = json(<<~RUBY, words: %w[--probe=/,/fine])
      require "sinatra/base"
      class Shop < Sinatra::Base
        set :environment, :production
        get("/") { $shop = params.to_s; @@last = env; "x" }
        get("/fine") { Thread.current[:shop] = 1; "x" }
      end
      use Rack::Lock
      run Shop
    RUBY
    assert_equal 1, status
    found = report["findings"].to_h { |finding| [finding["rule"], finding["seen"]] }
    assert_match(%r{\AGET / sets \$shop each time \(config\.ru:4\)}, found["state-global"])
    assert_match(%r{\AGET / changes Shop\.@@last each time}, found["state-class"])
    assert_includes found.keys, "rack-lock"
    told = report["findings"].reject { |finding| finding["level"] == "note" }
    refute(told.any? { |finding| finding["seen"].start_with?("GET /fine") })
  end

  def test_a_pool_of_sequel_that_its_workers_make_too_large
    report, status = json(<<~RUBY, words: %w[-w 8])
      require "sequel"
      Sequel.connect(adapter: "mock", max_connections: 20)
      #{HELLO}
    RUBY
    assert_equal 0, status
    finding = report["findings"].find { |one| one["rule"] == "pool-size" }
    assert_equal "warning", finding["level"]
    assert_match(/8 workers may open 160 connections \(20 each\)/, finding["seen"])
  end

  RAILS = <<~RUBY
    require "rails"
    require "action_controller/railtie"
    require "active_record/railtie"
    %s
    class Pages < ActionController::Base
      def index = render(plain: (Pages.instance_variable_set(:@last, request.path)))
      def other = render(plain: "x")
    end
    class Application < Rails::Application
      config.load_defaults 7.1
      config.secret_key_base = "x" * 64
      config.logger = Logger.new(nil)
      config.eager_load = true
      %s
      routes.append do
        root to: "pages#index"
        get "other(.:format)", to: "pages#other"
        get "page/:id", to: "pages#other"
        post "made", to: "pages#other"
      end
    end
    PagesController = Pages
    Application.initialize!
    run Application
  RUBY

  DATABASE = {
    "config/database.yml" => "production:\n  adapter: postgresql\n  database: x\n  pool: 40\n"
  }.freeze

  def test_rails_as_it_should_be
    report, status = json(format(RAILS, 'require "neverblock"', "config.force_ssl = true"),
                          words: %w[-e production --probe], files: DATABASE)
    assert_equal 0, status, report["findings"].first["seen"]
    found = report["findings"].map { |finding| finding["seen"] }
    assert(found.any? { |seen| seen.match?(%r{\AGET / changes Pages\.@last each time}) },
           found.join("\n"))
    refute(found.any? { |seen| seen.match?(%r{page/|/made|/rails/}) }, found.join("\n"))
    assert(found.none? { |seen| seen.include?("answers") || seen.include?("raises") },
           found.join("\n"))
  end

  def test_rails_with_one_request_at_a_time_state_by_thread_code_loaded_late_and_many_connections
    settings = "config.allow_concurrency = false; " \
               "config.active_support.isolation_level = :thread; " \
               "config.eager_load = false; config.active_job.queue_adapter = :async"
    app = format(RAILS, 'require "active_job/railtie"; require "neverblock"', settings)
    report, status = json(app, words: %w[-e production -w 4], files: DATABASE)
    assert_equal 1, status
    found = report["findings"].map { |finding| finding["rule"] }
    assert_empty %w[rack-lock isolation eager-load active-job pool-size] - found
  end

  # The controller is loaded by what is asked of its routes, not by the application.
  def test_routes_of_held_actions_are_told_and_those_that_cannot_be
    held = <<~RUBY
      initializer("held") do |app|
        Pages.allowblock :index, :other
        app.routes.append do
          get "by/:host", to: "pages#other", constraints: ->(_) { true }
          get "by/:name", to: "none#none"
        end
      end
    RUBY
    report, status = json(format(RAILS, 'require "neverblock"', held),
                          words: %w[-e production], files: DATABASE)
    assert_equal 0, status, report["findings"].first["seen"]
    found = report["findings"]
      .select { |finding| finding["rule"] == "allowblock" }
      .to_h { |finding| finding.values_at("level", "seen") }
    route = %r{GET /page/:id\(\.:format\) \(pages#other\)}
    assert_match(/run on a thread of their own, one at a time in each process: .*#{route}/,
                 found.fetch("note"))
    assert_match(%r{do not tell GET /by/:host\(\.:format\) \(pages#other\) from other routes},
                 found.fetch("warning"))
  end

  def test_rails_without_our_railtie_is_serious
    report, status = json(format(RAILS, "", ""), words: %w[-e production], files: DATABASE)
    assert_equal 1, status
    serious = report["findings"].select { |finding| finding["level"] == "serious" }
    assert_includes(serious.map { |finding| finding["rule"] }, "railtie")
  end

  def test_the_application_is_looked_for_in_the_directory_of_the_file
    files = { "config/neverblock.rb" => "directory \"app\"\n",
              "app/config.ru" => "run ->(_) { [200, {}, []] }\n" }
    out, err, status = check(nil, files: files)

    assert_equal 0, status, out + err
  end

  private

  # @return [Array(Hash, Integer)] what --json prints, and the status
  def json(app, words: [], **rest)
    out, err, status = check(app, words: [*words, "--json"], **rest)
    [JSON.parse(out), status]
  rescue JSON::ParserError
    flunk "status #{status}: #{out}#{err}"
  end

  # @param app [String, nil] text of config.ru
  # @param files [Hash{String => String}] further files, by their names
  # @param under_bundler [Boolean] whether with the gems of the checkout, as `bundle exec` has it
  # @return [Array(String, String, Integer)] output, errors, status
  def check(app, words: [], files: {}, under_bundler: true, env: {})
    Dir.mktmpdir do |directory|
      { "config.ru" => app, **files }.compact.each do |name, text|
        FileUtils.mkdir_p(File.dirname(File.join(directory, name)))
        File.write(File.join(directory, name), text)
      end
      env = { **bundler(under_bundler), **QUIET, **env }
      out, err, status = Open3.capture3(env, *COMMAND, *words, chdir: directory)
      [out, err, status.exitstatus]
    end
  end

  QUIET = {
    "RACK_ENV" => nil, "RAILS_ENV" => nil, "NB_DEBUG" => nil,
    "WEB_CONCURRENCY" => nil, "PORT" => nil
  }.freeze
  # Of the tests' own bundle.
  FOREIGN = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLER_SETUP BUNDLER_VERSION BUNDLE_BIN_PATH].freeze
  private_constant :QUIET, :FOREIGN

  def bundler(wanted)
    if wanted
      return { "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile"), "RUBYOPT" => "-rbundler/setup" }
    end

    FOREIGN.to_h { |name| [name, nil] }
      .merge("RUBYLIB" => Gem.loaded_specs.fetch("rack").full_require_paths.first)
  end
end
