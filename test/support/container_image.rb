# frozen_string_literal: true

# Images of the recipe in examples/deploy, built and run by podman without a daemon and without a
# registry: the image it begins from is a bare Debian 12 of debootstrap under the same name. That is
# kept in tmp/containers.
#
# Control groups are left out, and limits are small: a machine may be a guest that may not raise
# them.

require "fileutils"
require "json"
require "open3"

require_relative "node_net"
require_relative "patience"

class ContainerImage
  ROOT = File.expand_path("../..", __dir__)
  STORE = File.join(ROOT, "tmp/containers")
  BASE = "docker.io/library/debian:bookworm-slim"
  # crun refuses to work where groups of both versions are mounted.
  ALONE = "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\""
  PODMAN = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ALONE, "sh", "podman",
            "--root", "#{STORE}/store", "--runroot", "#{STORE}/run", "--storage-driver", "vfs",
            "--cgroup-manager", "cgroupfs", "--events-backend", "none"].freeze
  LIMITS = %w[--cgroups=disabled --ulimit nofile=1024:4096 --ulimit nproc=1000:1000].freeze

  class << self
    # @return [String, nil] why none can be built and run here
    def problem
      return NodeNet.problem if NodeNet.problem

      missing = %w[podman crun debootstrap unshare].reject { |name| program?(name) }
      return "needs #{missing.join(", ")} (apt-get install)" unless missing.empty?

      said, status = Open3.capture2e(*PODMAN, "version")
      "podman does not work here: #{said.lines.last}" unless status.success?
    end

    # @param words [Array<String>]
    # @return [String] what podman wrote
    # @raise [RuntimeError] with that, if it failed
    def podman(*words)
      said, status = Open3.capture2e(*PODMAN, *words)
      raise "podman #{words.first}: #{said.lines.last(20).join}" unless status.success?

      said
    end

    private

    def program?(name)
      folders = [*ENV.fetch("PATH").split(":"), "/usr/sbin"]
      folders.any? { |folder| File.executable?(File.join(folder, name)) }
    end
  end

  # @param folder [String] with the recipe
  # @param gems [String] the folder of a source of gems, found at the same path in the build
  def initialize(folder, gems)
    @name = "localhost/neverblock-test:#{Process.pid}"
    provide_base
    podman("build", "--isolation", "chroot", "--layers=false", "--pull=never",
           "--volume", "#{gems}:#{gems}:ro", "-t", @name, folder)
  end

  # @return [Hash] what an engine is told of it
  def config = inspected(@name)["Config"]

  # @return [Integer] bytes that it adds to what it begins from
  def added_bytes = inspected(@name)["Size"] - inspected(BASE)["Size"]

  # @return [String] what the command wrote, which runs in the place of the server
  def run(*command) = podman("run", "--rm", *LIMITS, "--network", "none", @name, *command)

  # @param options [Array<String>] of podman run
  # @yieldparam container [Running]
  def serve(*options)
    container = Running.new(@name, options).start
    yield container
  ensure
    container&.remove
  end

  def remove = podman("rmi", "-f", @name)

  private

  def podman(...) = self.class.podman(...)
  def inspected(name) = JSON.parse(podman("inspect", name)).first

  def provide_base
    FileUtils.mkdir_p(STORE)
    return if system(*PODMAN, "image", "exists", BASE)

    statuses = Open3.pipeline([File.join(__dir__, "debian_base.sh")],
                              [*PODMAN, "import", "-q", "-", BASE], out: File::NULL)
    raise "the image to begin from could not be made" unless statuses.all?(&:success?)
  end

  # A container with an address of its own.
  class Running
    # @return [String]
    attr_reader :address

    # @return [String] where it can reach this process
    attr_reader :here

    def initialize(image, options)
      @image = image
      @options = options
      @name = "neverblock-test-#{Process.pid}"
      @net = NodeNet.new(1).make
      @address = @net.address(0)
      @here = @net.here
      @log = File.join(STORE, "#{@name}.log")
    end

    def start
      @pid = Process.spawn(*PODMAN, "run", "--rm", "--name", @name, *LIMITS, *@options,
                           "--network", "ns:/run/netns/#{@net.on(0).last}", @image,
                           in: File::NULL, %i[out err] => @log)
      self
    end

    # Asks it to end as an engine does: TERM, and KILL after the time of the guide.
    def stop = Process.spawn(*PODMAN, "stop", "-t", "40", @name, %i[out err] => File::NULL)

    # @return [Integer] what the first process inside ended with
    def status
      Patience.await("the end of the container", -> { log }) do
        Process.wait2(@pid, Process::WNOHANG)&.then { |_, status| @status = status }
      end
      @status.exitstatus
    end

    # @return [String] all that it wrote
    def log = File.read(@log)

    def remove
      unless @status
        system(*PODMAN, "rm", "-f", "-t", "0", @name, %i[out err] => File::NULL)
        Process.wait(@pid)
      end
      @net.remove
      FileUtils.rm_f(@log)
    end
  end
end
