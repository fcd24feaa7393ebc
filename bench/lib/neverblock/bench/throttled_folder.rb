# frozen_string_literal: true

require "fileutils"
require "shellwords"

module NeverBlock
  module Bench
    # A folder on a slow disk of which nothing is in memory: a file system in a file, mounted by a
    # loop device and throttled by the blkio controller (cgroup v1). Needs root. A child of this
    # process undoes all of it when this process ends in any way.
    class ThrottledFolder
      THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"
      TOOLS = %w[losetup mount umount mkfs.ext4 cp].freeze
      TOOL_SECONDS_MAX = 60
      # Bytes beside the files, for ext4 itself.
      SPARE_BYTES = 16 << 20
      SECTOR_BYTES = 4096
      PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

      class << self
        # @return [String, nil] why it is not possible here
        def obstacle
          return "it needs root" unless Process.uid.zero?
          return "there is no #{THROTTLE}" unless File.writable?(THROTTLE)

          folders = PATH.split(":")
          missing = TOOLS.reject do |tool|
            folders.any? { |folder| File.executable?(File.join(folder, tool)) }
          end
          "#{missing.join(", ")} not installed" unless missing.empty?
        end
      end

      # @return [String] the folder of the files
      attr_reader :directory

      # @param directory [String] folder to create
      # @param files [Array<String>] paths to copy there, with names and times
      # @param bytes_per_second [Integer] rate of the disk
      # @raise [Error] when it cannot be made; nothing is left then
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
        @device = run("losetup", "-f", "--show", @image)[%r{^/dev/\S+$}]
        raise Error, "losetup names no device" unless @device

        guard
        run("mount", "-o", "ro,noatime", @device, @directory)
        throttle(bytes_per_second)
      rescue Error
        remove
        raise
      end

      # mke2fs(8) fills the image: a disk that was mounted for writing cannot be mounted read-only
      # while a namespace made meanwhile holds the first mount.
      def make_image(files)
        FileUtils.mkdir_p(@directory)
        File.chmod(0o755, @directory) # a worker that drops root still has to enter
        run("cp", "-p", *files, @directory)
        bytes = files.sum { |path| File.size(path) } + SPARE_BYTES
        File.open(@image, "w") { |file| file.truncate(bytes / SECTOR_BYTES * SECTOR_BYTES) }
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", @directory, @image)
        FileUtils.rm(files.map { |path| File.join(@directory, File.basename(path)) })
      end

      # Starts the child. It reads until this process ends or closes the pipe. It ignores signals of
      # the terminal.
      def guard
        undo = ["echo '#{number} 0' > #{THROTTLE}", "umount -l #{Shellwords.escape(@directory)}",
                "losetup -d #{@device}", "rm -f #{Shellwords.escape(@image)}",
                "rmdir #{Shellwords.escape(@directory)}"]
        script = "trap '' INT TERM HUP; cat; #{undo.join("; ")}"
        options = { pgroup: true, err: File::NULL, out: File::NULL }
        @guard = IO.popen({ "PATH" => PATH }, ["sh", "-c", script, options], "w")
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
        text = Child.capture(command, limit_seconds: TOOL_SECONDS_MAX,
                                      environment: { "PATH" => PATH })
        return text if Process.last_status.success?

        raise Error, "#{command.first}: #{text.strip.tr("\n", " ")[0, 200]}"
      end
    end
  end
end
