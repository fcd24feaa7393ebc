# frozen_string_literal: true

require "fileutils"
require "shellwords"

module NeverBlock
  module Bench
    # A folder on a disk that reads slowly, and of which nothing is in memory: a file system in a file, mounted through a loop device, throttled by the blkio
    # controller (cgroup v1). Needs root. A child of this process undoes it all when this process ends, however it ends.
    class ThrottledFolder
      THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"
      TOOLS = %w[losetup mount umount mkfs.ext4 cp].freeze
      TOOL_SECONDS_MAX = 60
      # Beside the files: what ext4 keeps for itself.
      SPARE_BYTES = 16 << 20
      SECTOR_BYTES = 4096
      PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

      class << self
        # @return [String, nil] why there can be none here
        def obstacle
          return "it needs root" unless Process.uid.zero?
          return "there is no #{THROTTLE}" unless File.writable?(THROTTLE)

          missing = TOOLS.reject { |tool| PATH.split(":").any? { |folder| File.executable?(File.join(folder, tool)) } }
          "#{missing.join(", ")} not installed" unless missing.empty?
        end
      end

      # @return [String] where the files are
      attr_reader :directory

      # @param directory [String] to be made
      # @param files [Array<String>] paths of what is copied there, names and times kept
      # @param bytes_per_second [Integer] that the disk gives
      # @raise [Error] when it cannot be made; then nothing is left of it
      def initialize(directory, files:, bytes_per_second:)
        raise Error, "no slow disk: #{self.class.obstacle}" if self.class.obstacle

        @directory = directory
        @image = "#{directory}.image"
        make(files, bytes_per_second)
      end

      def remove
        @guard&.close
        @guard = nil
        FileUtils.rm_rf([@image, @directory]) unless mounted?
      end

      private

      def make(files, bytes_per_second)
        make_image(files)
        @device = run("losetup", "-f", "--show", @image)[%r{^/dev/\S+$}] or raise Error, "losetup names no device"
        guard
        run("mount", "-o", "ro,noatime", @device, @directory)
        throttle(bytes_per_second)
      rescue Error
        remove
        raise
      end

      # mke2fs(8) fills it: a disk that was mounted for writing cannot be mounted otherwise while a namespace made meanwhile holds its first mount.
      def make_image(files)
        FileUtils.mkdir_p(@directory)
        File.chmod(0o755, @directory) # a worker that drops root still has to enter
        run("cp", "-p", *files, @directory)
        File.open(@image, "w") { |file| file.truncate((files.sum { |path| File.size(path) } + SPARE_BYTES) / SECTOR_BYTES * SECTOR_BYTES) }
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", @directory, @image)
        FileUtils.rm(files.map { |path| File.join(@directory, File.basename(path)) })
      end

      # Reads until this process has gone or closes its end. Signals of the terminal are not for it.
      def guard
        undo = ["echo '#{number} 0' > #{THROTTLE}", "umount -l #{Shellwords.escape(@directory)}", "losetup -d #{@device}",
                "rm -f #{Shellwords.escape(@image)}", "rmdir #{Shellwords.escape(@directory)}"]
        script = "trap '' INT TERM HUP; cat; #{undo.join("; ")}"
        @guard = IO.popen({ "PATH" => PATH }, ["sh", "-c", script, { pgroup: true, err: File::NULL, out: File::NULL }], "w")
      end

      def throttle(bytes_per_second)
        File.write(THROTTLE, "#{number} #{bytes_per_second}")
      rescue SystemCallError => e
        raise Error, "the disk cannot be throttled: #{e.message}"
      end

      # @return [String] MAJOR:MINOR
      def number
        File.read("/sys/block/#{File.basename(@device)}/dev").strip
      end

      def mounted?
        File.read("/proc/mounts").lines.any? { |line| line.split[1] == @directory }
      end

      def run(*command)
        text = Child.capture(command, limit_seconds: TOOL_SECONDS_MAX, environment: { "PATH" => PATH })
        return text if Process.last_status.success?

        raise Error, "#{command.first}: #{text.strip.tr("\n", " ")[0, 200]}"
      end
    end
  end
end
