# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cli/commands"

class InitCommandTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    FileUtils.mkdir_p(File.join(@folder, "config"))
    @out = StringIO.new
    @err = StringIO.new
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_it_writes_the_file_and_says_what_became_of_the_settings
    write("config/puma.rb", "port 3000\nthreads 5\nset_remote_address :localhost\n")
    assert_equal 0, init
    assert_includes read, "\nbind \"http://\#{default_host}:3000\"\n"
    assert_equal ["Wrote config/neverblock.rb: 1 carried over, 1 with nothing to write here, " \
                  "1 without a counterpart.",
                  "  config/puma.rb:3  set_remote_address :localhost: REMOTE_ADDR is the " \
                  "address of the connection, or what the PROXY protocol tells where " \
                  "`bind \"http://HOST:PORT?proxy_protocol=on\"` asks for it; behind other " \
                  "proxies use Rails' trusted_proxies or Rack::Request#ip",
                  "Next: read it, then `neverblock check`, then `neverblock`."],
                 @out.string.lines.map(&:chomp)
  end

  def test_with_bundler_the_next_commands_are_bundlers
    write("Gemfile", "")
    assert_equal 0, init
    assert_includes @out.string, "`bundle exec neverblock check`, then `bundle exec neverblock`."
  end

  def test_a_file_that_is_there_is_kept_until_force
    write("config/neverblock.rb", "fibers 7\n")
    write("config/puma.rb", "port 3000\n")
    assert_equal 1, init
    assert_equal "fibers 7\n", read
    assert_includes @err.string, "is there already: --force replaces it"
    assert_equal 0, init("--force")
    assert_includes read, "bind"
  end

  def test_print_writes_nothing
    write("config/puma.rb", "port 3000\n")
    assert_equal 0, init("--print")
    assert_includes @out.string, "bind \"http://\#{default_host}:3000\""
    refute_path_exists File.join(@folder, "config/neverblock.rb")
  end

  def test_without_another_server_there_is_a_beginning
    assert_equal 0, init
    assert_includes read, "# workers :auto"
  end

  def test_the_file_of_a_server_may_lie_elsewhere
    write("unicorn.conf.rb", "listen 80\n")
    assert_equal 0, init("unicorn.conf.rb")
    assert_includes read, "bind \"http://0.0.0.0:80\""
  end

  # Words => what is said.
  WRONG = {
    ["nosuch.rb"] => "there is no file nosuch.rb",
    ["nobody.txt"] => "cannot tell from its name whose file nobody.txt is; known are files with " \
                      "puma, unicorn, falcon, passenger, thin in their names",
    ["puma.rb"] => "there is no file puma.rb", ["config"] => "config is a folder",
    ["a", "b"] => "reads one file; got a b",
    ["--frce"] => "has no option --frce; did you mean --force?"
  }.freeze

  WRONG.each do |words, message|
    define_method("test_#{words.join(" ")} is refused in one line") do
      write("nobody.txt", "")
      assert_equal 1, init(*words)
      assert_includes @err.string, message
      assert_equal 1, @err.string.lines.size
    end
  end

  # Puma's words, which serve refuses.
  OTHERS = {
    %w[-t 5:5] => "there is no option -t: a request runs in a fiber here",
    %w[--control-url tcp://x] => "write --pidfile FILE",
    %w[phased-restart] => "write neverblock reload",
    %w[stats] => "write neverblock status", %w[-d] => "the service manager"
  }.freeze

  OTHERS.each do |words, message|
    define_method("test_#{words.join(" ")} says what to write here") do
      assert_equal 1, run_command(*words)
      assert_includes @err.string, message
    end
  end

  def test_the_file_of_puma_in_place_of_ours_is_named
    write("config/puma.rb", "threads 5\n")
    assert_equal 1, run_command("-C", "config/puma.rb")
    assert_includes @err.string, "config/puma.rb:1: unknown setting threads: this is Puma's " \
                                 "file; `neverblock init config/puma.rb` writes " \
                                 "config/neverblock.rb from it"
  end

  def test_help_teaches
    assert_equal 0, init("--help")
    assert_includes @out.string, "config/puma.rb"
  end

  private

  def init(*words) = run_command("init", *words)

  def run_command(*words)
    Dir.chdir(@folder) { NeverBlock::CLI.run(words, env: {}, out: @out, err: @err) }
  end

  def write(name, text) = File.write(File.join(@folder, name), text)
  def read = File.read(File.join(@folder, "config/neverblock.rb"))
end
