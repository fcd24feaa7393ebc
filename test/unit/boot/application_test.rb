# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/application"
require "tmpdir"

class ApplicationTest < Minitest::Test
  def setup
    @directory = File.realpath(Dir.mktmpdir("neverblock-application"))
  end

  def teardown
    FileUtils.remove_entry(@directory)
  end

  def test_a_rackup_file_becomes_an_application
    app = load_app("run ->(env) { [200, {}, [env['PATH_INFO']]] }")
    assert_equal [200, {}, ["/x"]], app.call("PATH_INFO" => "/x")
  end

  def test_config_ru_is_the_default
    write("config.ru", "run ->(_env) { [204, {}, []] }")
    assert_equal 204, NeverBlock::Application.load(nil, directory: @directory).call({}).first
  end

  def test_middleware_of_the_file_is_built_in
    app = load_app(
      "use Class.new { def initialize(app) = @app = app\n " \
      "def call(env) = @app.call(env).tap { |r| r[1]['x'] = 'y' } }\n" \
      "run ->(_env) { [200, {}, []] }"
    )
    assert_equal({ "x" => "y" }, app.call({})[1])
  end

  # Text of the file => what the complaint says.
  BROKEN = {
    "" => /config\.ru: the file runs no application; end it with `run APP`/,
    "run nil" => /the file runs no application/,
    "run 42" => /run got Integer, which does not respond to call/,
    "x = 1\nrun ->(env) {\n" => /config\.ru:\d+: syntax error: .+/,
    # The shape of the message from Ruby 3.4 on.
    'raise SyntaxError, __FILE__ + ":2: syntax errors found\n  1 | x = 1\n' \
    '> 2 | run (\n    |      ^ unexpected end-of-input; assuming it is closing\n"' =>
      /config\.ru:2: syntax error: unexpected end-of-input; assuming it is closing\z/,
    "# \xE9\nrun ->(_) {}\n".b =>
      /config\.ru: the file is no text in \S+; s(ave it in |tart with LANG=C\.)UTF-8\z/,
    "x = 1\nraise 'no database'\n" => /config\.ru:2: no database \(RuntimeError\)\z/,
    "x = 1\n\nundefined_thing\n" =>
      /config\.ru:3: undefined local variable or method .undefined_thing.* \(NameError\)\z/,
    "require 'no/such/gem'" =>
      /config\.ru:1: cannot load such file -- no\/such\/gem \(LoadError\); if a gem is missing/,
    "require_relative 'lib/missing'" =>
      /config\.ru:1: .*lib\/missing \(LoadError\); there is no such file: see its name and place\z/,
    "rnu ->(env) {}" =>
      /rnu. for an instance of Rack::Builder \(NoMethodError\); did you mean run\?\z/,
    "require_relative 'lib/broken'" => /lib\/broken\.rb:2: inside \(ArgumentError\)\z/,
    "raise \"two\\nlines\"" => /config\.ru:1: two \(RuntimeError\)\z/,
    "raise NotImplementedError" => /config\.ru:1: NotImplementedError \(NotImplementedError\)/,
    "def deep = deep\ndeep" => /config\.ru:1: stack level too deep \(SystemStackError\)/,
    "JSON.parse('{') if require 'json' or true" => /config\.ru:1: .* \(JSON::ParserError\)/
  }.freeze

  BROKEN.each do |text, pattern|
    define_method("test_a_file_with_#{text.inspect} is one line that says where and what") do
      Dir.mkdir(File.join(@directory, "lib"))
      write("lib/broken.rb", "\nraise ArgumentError, 'inside'\n")
      error = assert_raises(NeverBlock::ApplicationError) { load_app(text) }
      assert_match pattern, error.message
      refute_includes error.message, "\n"
    end
  end

  def test_a_file_of_ruby_without_the_constant_of_its_name_is_no_rackup_file
    write("my_app.rb", "class Other; end\n")
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.load("my_app.rb", directory: @directory)
    end
    assert_match(/my_app\.rb is no rackup file and has no constant MyApp; write a config\.ru /,
                 error.message)
    write("his_app.rb", "NeverBlock::HisApp\n")
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.load("his_app.rb", directory: @directory)
    end
    assert_match(/his_app\.rb:1: uninitialized constant NeverBlock::HisApp/, error.message)
  end

  def test_the_error_of_the_file_is_the_cause_so_that_its_trace_can_be_shown
    error = assert_raises(NeverBlock::ApplicationError) { load_app("raise IOError, 'x'") }
    assert_instance_of IOError, error.cause
  end

  def test_paths_under_the_current_folder_are_shown_short
    Dir.chdir(@directory) do
      error = assert_raises(NeverBlock::ApplicationError) { load_app("raise 'x'") }
      assert_equal "config.ru:1: x (RuntimeError)", error.message
    end
  end

  def test_an_application_may_end_the_process_itself
    assert_raises(SystemExit) { load_app("exit 3") }
  end

  def test_a_missing_file_says_where_it_was_looked_for
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.locate(nil, @directory)
    end
    assert_includes error.message,
                    "no config.ru in #{@directory}; start in the application's folder"
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.locate("x/y.ru", @directory)
    end
    assert_includes error.message, "no rackup file #{@directory}/x/y.ru: its folder does not exist"
  end

  def test_a_folder_that_may_not_be_entered_is_no_missing_file
    skip "takes root, to be another user" unless Process.euid.zero?

    write("config.ru", "")
    File.chmod(0o700, @directory)
    reader, writer = IO.pipe
    child = fork do
      Process::Sys.setuid(65_534)
      NeverBlock::Application.locate(nil, @directory)
    rescue NeverBlock::ApplicationError => e
      writer.write(e.message)
    ensure
      exit!(0)
    end
    writer.close
    assert_equal "cannot read #{@directory}/config.ru: permission denied for user 65534",
                 reader.read
  ensure
    reader&.close
    Process.wait(child) if child
  end

  def test_a_folder_says_which_file_it_has
    write("config.ru", "")
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.locate("../#{File.basename(@directory)}", @directory)
    end
    assert_match(%r{is a folder; name a rackup file, such as .*/config\.ru\z}, error.message)
  end

  def test_a_folder_of_files_says_what_shares_it
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Application.locate(".", @directory)
    end
    assert_match(/is a folder; .* share its files: neverblock files \.\z/, error.message)
  end

  private

  def write(name, text)
    File.write(File.join(@directory, name), text)
  end

  def load_app(text)
    write("config.ru", text)
    NeverBlock::Application.load("config.ru", directory: @directory)
  end
end
