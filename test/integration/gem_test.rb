# frozen_string_literal: true

require "minitest/autorun"
require "net/http"
require "rubygems/package"
require "socket"
require "tmpdir"
require_relative "../support/installed_gem"

# The gem, built, installed into an empty GEM_HOME, and used from there.
class GemCase < Minitest::Test
  HELLO = "run ->(_env) { [200, { \"content-type\" => \"text/plain\" }, [\"hello\"]] }\n"

  class << self
    # Words of the build.
    def switches
      []
    end

    def gem_folder
      @gem_folder ||= Dir.mktmpdir("neverblock-gem")
    end

    def installed
      raise @broken if @broken

      @installed ||= install
    end

    def install
      InstalledGem.new(InstalledGem.build(gem_folder).first, switches: switches)
    end

    # Compiling is not a part of any test, which may take only so long.
    def with_info_handler(...)
      begin
        installed
      rescue StandardError => e
        @broken = e
      end
      super
    end

    def run(...)
      super
    ensure
      @installed&.remove
      FileUtils.rm_rf(@gem_folder) if @gem_folder
      @installed = @gem_folder = nil
    end

    def runnable_methods
      self == GemCase ? [] : super
    end
  end

  private

  def installed
    self.class.installed
  end

  def run_ruby(code)
    out, status = installed.run("ruby", "-e", code)
    assert status.success?, out
    out
  end

  # Without what `neverblock check` says of the machine and of the application.
  def built_without
    out, status = installed.run("neverblock", "check", "--json", chdir: folder_of(HELLO))
    assert_equal 0, status.exitstatus, out
    JSON.parse(out).fetch("findings").filter_map do |finding|
      finding.fetch("rule")[/\Abuild-(.*)/, 1]
    end
  end

  def folder_of(app)
    folder = File.join(self.class.gem_folder, "application")
    FileUtils.mkdir_p(folder)
    File.write(File.join(folder, "config.ru"), app)
    folder
  end
end

# Of every build.
module ServesFromTheGem
  def test_it_serves
    installed.serve(self.class::HELLO) do |server|
      assert_equal "hello", Net::HTTP.get(URI("#{server.url}/"))
    end
  end
end

class GemTest < GemCase
  def test_it_serves_an_application_and_files
    public_folder = Dir.mktmpdir
    File.write(File.join(public_folder, "page.txt"), "a file")
    installed.serve(HELLO, options: ["--public", public_folder]) do |server|
      assert_equal "hello", Net::HTTP.get(URI("#{server.url}/"))
      assert_equal "a file", Net::HTTP.get(URI("#{server.url}/page.txt"))
    end
  ensure
    FileUtils.rm_rf(public_folder) if public_folder
  end

  # The three lines for Rack: the first makes config.ru, the second serves it.
  def test_it_serves_the_start_of_the_readme
    make, serve, = File.read(File.join(InstalledGem::ROOT, "README.md"))[/^echo .*\n.*\n.*\n/].lines
    folder = File.join(self.class.gem_folder, "start")
    FileUtils.mkdir_p(folder)
    assert system("sh", "-c", make, chdir: folder)
    assert_match(/\Abundle exec neverblock config\.ru -w auto --admin \S+ --pidfile \S+$/, serve)
    options = serve.split.drop(4).map { |word| word.sub(/:\d+\z/, ":0") }
    pidfile = options[-1] = File.join(folder, "app.pid")
    installed.serve(File.read(File.join(folder, "config.ru")), options: options) do |server|
      assert_equal "hello\n", Net::HTTP.get(URI("#{server.url}/"))
      said, status = installed.run("neverblock", "stop", "--pidfile", pidfile)
      assert status.success?, said
    end
  end

  def test_it_serves_by_workers
    installed.serve(HELLO, options: %w[-w 2]) do |server|
      assert_equal "hello", Net::HTTP.get(URI("#{server.url}/"))
    end
  end

  def test_it_shares_a_folder
    files = installed.command(["neverblock", "files", installed.folder, "-p", "0"])
    IO.popen(installed.environment, files, err: File::NULL) do |out|
      line = out.gets until (url = line&.[](%r{http://[\d.]+:\d+}))
      assert_match(/MIT License/, Net::HTTP.get(URI("#{url}/LICENSE")))
    ensure
      Process.kill(:TERM, out.pid)
    end
  end

  def test_the_verbs_run_in_a_script
    assert_equal "[1, 2]\n", run_ruby(<<~RUBY)
      require "neverblock"
      puts NB.run { NB.all(-> { sleep 0.01; 1 }, -> { NB.offload { 2 } }) }.inspect
    RUBY
  end

  def test_the_command_answers
    version = run_ruby('require "neverblock/version"; print NeverBlock::VERSION')
    assert_equal "neverblock #{version}\n", installed.run("neverblock", "--version").first
    assert_match(/^Usage: neverblock/, installed.run("neverblock", "--help").first)
  end

  def test_only_ruby_and_rack_are_needed
    names = Dir.children(File.join(installed.home, "gems")).map { |name| name[/\A(.*)-\d/, 1] }
    assert_equal %w[neverblock rack], names.sort
  end

  def test_nothing_is_left_out_where_all_headers_are_there
    skip "a header is missing here" unless InstalledHeaders.all?
    assert_empty built_without
    refute_match(/^neverblock: without /, installed.build_output)
  end

  # Of this machine, as pkg-config knows.
  module InstalledHeaders
    NAMES = %w[openssl libnghttp2 zlib libbrotlienc libzstd].freeze

    def self.all?
      NAMES.all? { |name| system("pkg-config", "--exists", name, err: File::NULL) }
    end
  end
end

class GemWithoutLibrariesTest < GemCase
  include ServesFromTheGem

  NAMES = %w[openssl nghttp2 zlib brotli zstd].freeze

  # Built without optimization, which takes a third of the time.
  def self.switches
    [*NAMES.map { |name| "--without-#{name}" }, "--enable-debug"]
  end

  def test_the_build_says_what_it_left_out
    said = installed.build_output.scan(/^neverblock: without (\w+): .+ \(as asked\)$/).flatten
    assert_equal NAMES, said
  end

  def test_check_says_what_is_off
    assert_equal %w[gzip http2 tls], built_without.sort
  end

  def test_an_address_of_https_is_refused_with_the_mend
    out, status = installed.run("neverblock", "-b", "https://127.0.0.1:0",
                                chdir: folder_of(HELLO))
    refute status.success?
    assert_match(/OpenSSL/, out)
    assert_match(/libssl-dev/, out)
  end
end

# The gem with the extension in it, for this platform. A folder without a compiler is its PATH.
class PrecompiledGemTest < GemCase
  include ServesFromTheGem

  VERSION = RUBY_VERSION[/\A\d+\.\d+/]
  LIBRARY = "neverblock.#{RbConfig::CONFIG["DLEXT"]}".freeze

  class << self
    def install
      InstalledGem.new(precompiled, path: gem_folder)
    end

    # @return [String] path of the gem, with the extension that this tree has built
    def precompiled
      built = File.join(InstalledGem::ROOT, "lib/neverblock", LIBRARY)
      options = ["--native", "--add", "#{VERSION}=#{built}", "--add", "3.9=#{built}"]
      InstalledGem.build(gem_folder, options: options).last
    end
  end

  def test_it_is_loaded_from_the_folder_of_this_version_of_ruby
    loaded = run_ruby('require "neverblock"; puts $LOADED_FEATURES.grep(/\.(so|bundle)\z/)')
    assert_includes loaded.lines(chomp: true),
                    File.join(installed.folder, "lib/neverblock", VERSION, LIBRARY)
    assert_empty installed.build_output
  end

  def test_one_for_another_platform_has_the_extensions_that_are_given
    own = File.join(InstalledGem::ROOT, "lib/neverblock", LIBRARY)
    options = ["--platform", "aarch64-linux", "--add", "3.4=#{own}"]
    Dir.mktmpdir do |folder|
      spec = Gem::Package.new(InstalledGem.build(folder, options: options).last).spec
      assert_equal ["aarch64-linux", [">= 3.4", "< 3.5.dev"]],
                   [spec.platform.to_s, spec.required_ruby_version.as_list.sort.reverse]
      assert_equal ["lib/neverblock/3.4/#{LIBRARY}"], spec.files.grep(/\.(so|bundle)\z/)
    end
    error = assert_raises(RuntimeError) { InstalledGem.build("unused", options: options.first(2)) }
    assert_match(/--platform needs --add/, error.message)
  end

  def test_it_is_for_this_platform_and_the_versions_of_ruby_it_has_and_has_no_sources
    spec = Gem::Package.new(Dir[File.join(self.class.gem_folder, "*-*-*.gem")].first).spec
    assert_equal Gem::Platform.local.os, spec.platform.os
    assert_empty spec.extensions
    assert_empty spec.files.grep(/\.c\z/)
    assert_includes spec.files, "lib/neverblock/3.9/#{LIBRARY}"
    versions = %w[3.0.9 3.1.0 3.9.5 4.0.0].map { |version| Gem::Version.new(version) }
    satisfied = versions.map { |version| spec.required_ruby_version.satisfied_by?(version) }
    assert_equal [false, VERSION == "3.1", true, false], satisfied
  end
end
