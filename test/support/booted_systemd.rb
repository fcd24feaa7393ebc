# frozen_string_literal: true

# A systemd that has booted with one unit of ours, as the first process of its own namespaces.
# Needs root, overlayfs and a control group of version 2 that it may make groups in.

require "fileutils"
require "open3"
require "tmpdir"

require_relative "patience"

class BootedSystemd
  ROOT = File.expand_path("../..", __dir__)
  SYSTEMD = "/lib/systemd/systemd"
  GROUPS = %w[/sys/fs/cgroup /sys/fs/cgroup/unified].freeze

  # @return [String, nil] why there can be none
  def self.problem
    return "needs root" unless Process.uid.zero?
    return "needs systemd" unless File.executable?(SYSTEMD)
    return "needs overlayfs" unless File.read("/proc/filesystems").include?("\toverlay\n")

    "needs control groups of version 2" unless group
  end

  def self.group = GROUPS.find { |path| File.writable?(File.join(path, "cgroup.procs")) }

  # @param unit [String] text of app.service
  # @param files [Hash{String => String}] of the application
  def initialize(unit, files)
    @folder = Dir.mktmpdir("neverblock-systemd")
    File.chmod(0o755, @folder)
    Dir.mkdir(File.join(@folder, "app"))
    File.write(File.join(@folder, "app.service"), unit)
    files.each { |name, text| File.write(File.join(@folder, "app", name), text) }
  end

  # @return [self] once it takes orders
  def boot
    @log = File.join(@folder, "log")
    @pid = Process.spawn("#{__dir__}/booted_systemd.sh", @folder, ROOT,
                         in: File::NULL, %i[out err] => @log)
    Patience.await("systemd", -> { File.read(@log) }) do
      raise "systemd did not boot: #{File.read(@log)}" if Process.wait(@pid, Process::WNOHANG)

      first && run("systemctl", "is-active", "basic.target").last.success?
    end
    self
  end

  # @param words [Array<String>] a command, run inside
  # @return [Array(String, Process::Status)] with what it wrote
  def run(*words)
    Open3.capture2e("nsenter", "-t", first.to_s, "-m", "-p", "-n", "-u", "-i", "-C", "-r", "-w",
                    "--", *words)
  end

  # @return [String]
  # @raise [RuntimeError] it failed
  def systemctl(*words)
    said, status = run("systemctl", *words)
    raise "systemctl #{words.join(" ")}: #{said}\n#{journal}" unless status.success?

    said
  end

  # @return [String] a property of the unit
  def [](name) = systemctl("show", "app", "--value", "-p", name).chomp

  # @return [String]
  def journal = systemctl_status.first

  def remove
    if @pid
      Process.kill("KILL", first) if first
      Process.wait(@pid) rescue nil # rubocop:disable Style/RescueModifier
    end
    FileUtils.rm_rf(@folder)
    Patience.await("the group's end") { remove_group }
  end

  private

  def systemctl_status = run("systemctl", "status", "app", "--no-pager", "--full")

  # The number that it has outside, once it is systemd.
  def first
    child = File.read("/proc/#{@pid}/task/#{@pid}/children").to_i
    child if child.positive? && File.read("/proc/#{child}/comm") == "systemd\n"
  rescue SystemCallError
    nil
  end

  # A group can be removed when it holds neither processes nor groups.
  def remove_group
    path = File.join(self.class.group, File.basename(@folder))
    Dir.glob("#{path}/**/").sort_by { |folder| -folder.size }.each { |folder| Dir.rmdir(folder) }
    !File.exist?(path)
  rescue SystemCallError
    false
  end
end
