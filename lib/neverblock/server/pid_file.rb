# frozen_string_literal: true

# A file that holds this process's id while it runs. It appears with its whole content: it is
# written under another name, then linked or renamed. It replaces the file of a process that has
# ended, never that of one that runs. It is removed only by the process that made it, and only while
# it is still the same file.

require "neverblock/errors"
require "neverblock/server/other_process"

module NeverBlock
  class Server
    class PidFile
      MODE = 0o644
      # Attempts to take the file: two servers that start at once may see each other's incomplete
      # file.
      TRIES = 10
      BYTES_MAX = 32
      NUMBER = /\A\s*\d{0,10}\s*\z/.freeze

      # @param path [String]
      # @return [Integer, nil] the process id; 0 for an empty file; nil when it holds something else
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
      # @param after [Integer, nil] a process whose file is replaced though it runs
      # @return [self]
      # @raise [StartError] when the file of a running process is there, or it cannot be written
      def take(after: nil)
        @after = after
        fresh = write_beside
        TRIES.times { return taken if place(fresh) }
        raise StartError, "cannot take the pidfile #{@path}: another process takes it at the " \
                          "same time"
      rescue SystemCallError => e
        raise StartError, "cannot write the pidfile #{@path}: #{explain(e)}"
      ensure
        remove_quietly(fresh)
      end

      # Removes the file if it is this process's own. Never raises.
      # @return [void]
      def release
        return unless @identity && @owner == ::Process.pid

        File.unlink(@path) if own?
        @identity = nil
      rescue SystemCallError
        nil
      end

      private

      # The content is compared too, because inode numbers are reused.
      def own?
        identity(File.lstat(@path)) == @identity && File.read(@path, BYTES_MAX).to_i == @owner
      end

      def write_beside
        name = "#{@path}.#{::Process.pid}.new"
        remove_quietly(name)
        mode = File::WRONLY | File::CREAT | File::EXCL
        File.open(name, mode, MODE) { |file| file.write("#{::Process.pid}\n") }
        name
      end

      # @return [Boolean] false: try again
      def place(fresh)
        @identity = identity(File.lstat(fresh))
        File.link(fresh, @path)
        true
      rescue Errno::EEXIST
        replace(fresh)
      end

      # The holder of the existing file's lock decides about it. The decision is void when another
      # file has replaced it meanwhile.
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
        text = file.stat.file? ? file.read(BYTES_MAX).to_s : "not a regular file"
        unless text.match?(NUMBER)
          raise StartError, "the file #{@path} exists and is not a pidfile; remove it, or choose " \
                            "another path"
        end

        pid = text.to_i
        holder = OtherProcess.new(pid, proc_root: @proc_root)
        free = [0, ::Process.pid, @after].include?(pid) || !holder.alive?
        raise StartError, taken_by(holder) unless free
      end

      def taken_by(holder)
        name = holder.command
        process = "process #{holder.pid}#{" (#{name})" unless name.empty?}"
        "the pidfile #{@path} belongs to #{process}, which runs; stop it first, or remove the " \
          "file if that is another program"
      end

      def taken
        @owner = ::Process.pid
        self
      end

      def identity(stat)
        [stat.dev, stat.ino]
      end

      def explain(error)
        directory = File.dirname(@path)
        case error
        when Errno::ENOENT, Errno::ENOTDIR then "there is no folder #{directory}; create it"
        when Errno::EACCES, Errno::EPERM
          "user #{::Process.euid} may not create files in #{directory}"
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
