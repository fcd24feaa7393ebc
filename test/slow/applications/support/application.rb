# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

# A public Rails application from its repository, in a folder of its own with a bundle that is kept
# between runs. Puma and this server are in the bundle, and each serves it in turn.
class Application
  # A command of it failed. The message holds what it printed.
  class Failed < StandardError; end
  # It cannot be had on this machine; the message says why.
  class Unavailable < StandardError; end

  ROOT = File.expand_path("../../../..", __dir__)
  LISTENING = %r{(?:Listening on |\* Listening on )(http://\S+)}

  attr_reader :folder

  # @param name [String] of the folder under tmp/applications; with the version
  # @param repository [String] path or URL
  # @param version [String] tag or commit
  # @param ruby [String] the oldest Ruby that runs it
  # @param env [Hash] of every command
  # @param address [Boolean] whether its own config/puma.rb says where to listen, with PORT
  # @raise [Unavailable] this Ruby does not run it
  def initialize(name, repository:, version:, ruby: "3.1", env: {}, address: false)
    too_old = Gem::Version.new(RUBY_VERSION) < Gem::Version.new(ruby)
    raise Unavailable, "#{name} needs Ruby #{ruby}, this is #{RUBY_VERSION}" if too_old

    @name = name
    @repository = repository
    @version = version
    base = File.join(ENV.fetch("NB_APPLICATIONS_CACHE", File.join(ROOT, "tmp/applications")))
    @folder = File.join(base, "#{name}-#{version[0, 12]}")
    @bundle = File.join(base, "bundle-#{RbConfig::CONFIG["ruby_version"]}")
    @env = env
    @address = address
  end

  # What every command of the application sees of its environment.
  def environment
    {
      "BUNDLE_GEMFILE" => File.join(@folder, "Gemfile"), "BUNDLE_LOCKFILE" => nil,
      "BUNDLE_PATH" => @bundle, "BUNDLE_APP_CONFIG" => File.join(@folder, ".bundle"),
      "BUNDLE_WITHOUT" => "development:test", "BUNDLE_FROZEN" => nil, "RUBYOPT" => nil,
      "RUBYLIB" => nil, "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLER_SETUP" => nil,
      "BUNDLE_BIN_PATH" => nil, "BUNDLER_VERSION" => nil, "BUNDLE_VERSION" => "system",
      "RAILS_ENV" => "production", "NB_ROOT" => ROOT, **@env
    }
  end

  # Brings the source once, and the gems; a source that somebody has unpacked there is taken as it
  # is. The block gets the fresh folder, to write what the gems need.
  # @raise [Unavailable] the source or a gem cannot be had
  def prepare
    unless ready?
      bring unless unpacked?
      yield @folder
    end
    _, status = Open3.capture2e(environment, "bundle", "check", chdir: @folder)
    run("bundle", "install", "--quiet") unless status.success?
  rescue Failed => e
    raise Unavailable, e.message
  end

  # Calls the block for a folder that is fresh, with its gems.
  def once
    return if ready?

    yield
    FileUtils.touch(ready)
  end

  # @return [String] what the command printed
  # @raise [Failed]
  def run(*command)
    text, status = Open3.capture2e(environment, *command, chdir: @folder)
    return text if status.success?

    raise Failed, "#{@name}: #{command.join(" ")} (#{status.exitstatus}):\n#{text}"
  end

  # Starts it with Puma, or with this server after the words of docs/guides/moving.md.
  # @param server [Symbol] :puma or :neverblock
  # @param options [Array<String>] further words of the command
  # @return [Served]
  def serve(server, *options)
    Served.new(environment, ["bundle", "exec", *words(server), *options], @folder).start
  end

  private

  def ready = File.join(@folder, ".ready")
  def ready? = File.exist?(ready)

  def unpacked?
    File.exist?(File.join(@folder, "config.ru")) && !File.exist?(File.join(@folder, ".git"))
  end

  # One commit, without its history.
  def bring
    FileUtils.rm_rf(@folder)
    FileUtils.mkdir_p(@folder)
    run("git", "init", "--quiet")
    run("git", "fetch", "--quiet", "--depth", "1", @repository, @version)
    run("git", "checkout", "--quiet", "FETCH_HEAD")
  end

  def words(server)
    words = server == :puma ? %w[puma -t 5:5 -e production] : %w[neverblock]
    return words if @address

    words + ["-b", server == :puma ? "tcp://127.0.0.1:0" : "http://127.0.0.1:0"]
  end

  # The running server.
  class Served
    attr_reader :url, :pid

    def initialize(env, command, folder)
      @env = env
      @command = command
      @folder = folder
      @path = File.join(folder, "log/server-of-the-test.log")
    end

    def start
      FileUtils.mkdir_p(File.dirname(@path))
      @pid = Process.spawn(@env, *@command, chdir: @folder, %i[out err] => [@path, "w"])
      @url = Patience.await("#{@command.join(" ")} listens", -> { log }) do
        raise Failed, "it ended:\n#{log}" if ended?

        log[LISTENING, 1]&.sub("0.0.0.0", "127.0.0.1")
      end
      self
    ensure
      stop("KILL") if @pid && !@url
    end

    # What it wrote so far.
    def log = File.read(@path, encoding: Encoding::BINARY)

    # @return [Process::Status]
    def stop(signal = "TERM")
      return @status if @status

      Process.kill(signal, @pid)
      Patience.await("the server ends after #{signal}", -> { log }) { ended? }
      @status
    end

    # Ends a server of which only the answers matter, also one that does not end by TERM.
    # @return [void]
    def discard
      stop
    rescue Minitest::Assertion
      stop("KILL")
    end

    private

    def ended?
      @status ||= ($? if Process.wait(@pid, Process::WNOHANG))
    end
  end
end
