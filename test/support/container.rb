# frozen_string_literal: true

# The real command as the first process of a PID namespace, with the file systems of this machine:
# what an engine of containers makes of it, as far as processes, signals and a read-only root go.
# Needs root, or user namespaces that anybody may make, and unshare(1) of util-linux.

require "open3"
require "pty"
require "rbconfig"
require "socket"
require "timeout"
require "uri"

require_relative "patience"

class Container
  ROOT = File.expand_path("../..", __dir__)
  COMMAND = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), File.join(ROOT, "exe/neverblock")].freeze
  UNSHARE = %w[unshare --mount --pid --fork --kill-child --mount-proc].freeze
  LISTENING = /Listening on (\S+)/
  # Makes everything read-only but a folder of its own in memory, and becomes the command.
  READ_ONLY = 'mount -t tmpfs tmpfs "$0" && mount -o remount,bind,ro / && exec "$@"'

  # @return [String, nil] why there can be none
  def self.missing
    @missing ||= [unusable]
    @missing.first
  end

  def self.unusable
    _, status = Open3.capture2e(*UNSHARE, "true")
    unless status.success?
      "no namespaces here (unshare --mount --pid ends with #{status.exitstatus})"
    end
  rescue Errno::ENOENT
    "unshare(1) is not here"
  end
  private_class_method :unusable

  # @return [String]
  attr_reader :url

  # @param directory [String] the application's
  # @param options [Array<String>] further words of the command
  # @param read_only [Boolean] the root, and everything but a folder of its own in memory
  # @param temporary [String] what TMPDIR is then; default that folder
  def initialize(directory, options, read_only: false, temporary: "#{directory}.memory")
    @directory = directory
    @options = options
    @read_only = read_only
    @temporary = temporary
    @stderr = "#{directory}.err"
  end

  # @return [self] listening
  def start
    spawn
    Timeout.timeout(Patience::SECONDS) do
      until (line = @output.gets)&.match?(LISTENING)
        raise "ended before it listened: #{errors}" if line.nil?
      end
      @url = line[LISTENING, 1]
    end
    self
  end

  # The same with a terminal for all its streams.
  # @return [self] listening
  def start_on_terminal
    env = { "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile") }
    @output, @keyboard, @pid = PTY.spawn(env, *UNSHARE, *COMMAND, "-p", "0", *@options,
                                         chdir: @directory)
    await(LISTENING)
    @url = @screen[LISTENING, 1]
    self
  end

  # Returns when the server has said something about it.
  def press(key)
    @keyboard.write(key)
    await(/SIG[A-Z]+: /)
  end

  def spawn
    @output, writer = IO.pipe
    memory = "#{@directory}.memory"
    Dir.mkdir(memory) if @read_only
    shell = @read_only ? ["sh", "-c", READ_ONLY, memory] : []
    env = { "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile") }
    env["TMPDIR"] = @temporary if @read_only
    @pid = Process.spawn(env, *UNSHARE, *shell, *COMMAND, "-p", "0", *@options,
                         chdir: @directory, out: writer, err: @stderr, in: File::NULL)
    writer.close
  end

  # To the first process inside.
  def signal(name)
    Process.kill(name, first)
  end

  # @return [Process::Status] unshare(1) ends as its child does
  def wait
    Timeout.timeout(Patience::SECONDS) { Process.wait(@pid) }
    @status = $?
  end

  def kill
    Process.kill("KILL", @pid) && Process.wait(@pid) if @pid && !@status
    [@output, @keyboard].compact.each(&:close)
    FileUtils.rm_rf([@stderr, "#{@directory}.memory"])
  end

  # @return [String] what it wrote to standard error
  def errors
    File.read(@stderr)
  end

  def await_errors(pattern)
    Timeout.timeout(Patience::SECONDS) { sleep 0.005 until errors.match?(pattern) }
  end

  # A further command of ours, inside.
  # @return [String] what it wrote
  def command(*words)
    inside = ["nsenter", "-t", first.to_s, "-m", "-p", "--wd=#{@directory}", "--"]
    IO.popen([*inside, *COMMAND, *words], err: %i[child out], &:read)
  end

  def connect
    uri = URI(url)
    TCPSocket.new(uri.host, uri.port)
  end

  # Inside.
  def writable?(path)
    touched = File.join(path, "touched")
    _, status = Open3.capture2e("nsenter", "-t", first.to_s, "-m", "--", "touch", touched)
    status.success?
  end

  private

  def await(pattern)
    @screen = +""
    Timeout.timeout(Patience::SECONDS) do
      @screen << @output.readpartial(4_096) until @screen.match?(/#{pattern}.*\n/)
    end
  end

  # The number that it has outside.
  def first
    @first ||= File.read("/proc/#{@pid}/task/#{@pid}/children").to_i
  end
end
