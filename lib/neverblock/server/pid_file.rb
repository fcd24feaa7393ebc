# frozen_string_literal: true

# A file that holds this process's id while it runs. It appears whole (written beside its place, then linked or renamed there), is taken over from a process that
# is gone, never from one that lives, and is removed only by the process that made it and only while it is still that file.

require "neverblock/errors"
require "neverblock/server/other_process"

module NeverBlock
  class Server
    class PidFile
      MODE = 0o644
      # Two servers that start at the same moment may each see the other's half-taken file; one of them has it after a few looks.
      TRIES = 10
      BYTES_MAX = 32
      NUMBER = /\A\s*\d{0,10}\s*\z/.freeze

      # @param path [String]
      # @return [Integer, nil] the process id in it; 0 in an empty one; nil when it holds something else
      # @raise [SystemCallError]
      def self.read(path)
        text = File.read(path, BYTES_MAX).to_s
        text.to_i if text.match?(NUMBER)
      end

      # @param path [String]
      # @param proc_root [String]
      def initialize(path, proc_root: "/proc")
        @path = File.expand_path(path)
        @proc_root = proc_root
      end

      # Writes the file.
      # @return [self]
      # @raise [StartError] when another process has it, or it cannot be written
      def take
        fresh = write_beside
        TRIES.times { return taken if place(fresh) }
        raise StartError, "cannot take the pidfile #{@path}: another process takes it at the same time"
      rescue SystemCallError => e
        raise StartError, "cannot write the pidfile #{@path}: #{mend(e)}"
      ensure
        remove_quietly(fresh)
      end

      # Removes the file if it is this process's own. Never raises.
      # @return [void]
      def release
        return unless @identity && @owner == ::Process.pid

        File.unlink(@path) if identity(File.lstat(@path)) == @identity && File.read(@path, BYTES_MAX).to_i == @owner # inodes are used again
        @identity = nil
      rescue SystemCallError
        nil
      end

      private

      def write_beside
        name = "#{@path}.#{::Process.pid}.new"
        remove_quietly(name)
        File.open(name, File::WRONLY | File::CREAT | File::EXCL, MODE) { |file| file.write("#{::Process.pid}\n") }
        name
      end

      # @return [Boolean] false: look again
      def place(fresh)
        @identity = identity(File.lstat(fresh))
        File.link(fresh, @path)
        true
      rescue Errno::EEXIST
        replace(fresh)
      end

      # Whoever holds the lock of the file that is there decides about it; if it is another file by then, the decision is void.
      def replace(fresh)
        File.open(@path, File::RDONLY | File::NOFOLLOW | File::NONBLOCK) do |file|
          return false unless file.flock(File::LOCK_EX | File::LOCK_NB)

          refuse_unless_stale(file)
          return false unless identity(File.lstat(@path)) == identity(file.stat)

          File.rename(fresh, @path)
        end
        true
      rescue Errno::ENOENT
        false
      end

      def refuse_unless_stale(file)
        text = file.stat.file? ? file.read(BYTES_MAX).to_s : "no file"
        unless text.match?(NUMBER)
          raise StartError, "the pidfile #{@path} is there and holds no process id; remove it, or choose another path"
        end

        pid = text.to_i
        holder = OtherProcess.new(pid, proc_root: @proc_root)
        return unless pid.positive? && pid != ::Process.pid && holder.alive?

        name = holder.command
        raise StartError, "the pidfile #{@path} belongs to process #{pid}#{" (#{name})" unless name.empty?}, which runs; stop it first, " \
                          "or remove the file if that is another program"
      end

      def taken
        @owner = ::Process.pid
        self
      end

      def identity(stat)
        [stat.dev, stat.ino]
      end

      def mend(error)
        directory = File.dirname(@path)
        case error
        when Errno::ENOENT, Errno::ENOTDIR then "there is no folder #{directory}; make it first"
        when Errno::EACCES, Errno::EPERM then "user #{::Process.euid} may not make files in #{directory}"
        when Errno::ELOOP then "it is a symbolic link; name the file itself"
        when Errno::EROFS then "#{directory} is on a read-only file system"
        else error.message
        end
      end

      def remove_quietly(path)
        File.unlink(path) if path
      rescue SystemCallError
        nil
      end
    end
  end
end
