# frozen_string_literal: true

# env["rack.input"] of a body too large for memory: an unlinked File. Its path is the kernel's name
# of the open file (proc(5), /proc/PID/fd). Code can open it again by that path, hand it to a
# program, or ask for its size, as long as the request lasts.

module NeverBlock
  class SpooledInput < File
    # Where a system has no /proc, the path names no file, as with Puma's.
    FOLDER = File.directory?("/proc/self/fd") ? "/proc/%d/fd" : "/dev/fd"
    private_constant :FOLDER

    # @return [String]
    # @raise [IOError] when it is closed
    def path
      format("#{FOLDER}/%d", *(Process.pid if FOLDER.include?("%")), fileno)
    end
    alias to_path path

    # @return [File::Stat] of the file itself: the kernel's name is a link
    def lstat = stat

    # @return [String]
    def inspect
      closed? ? "#<#{self.class}:(closed)>" : "#<#{self.class}:#{path}>"
    end
  end
end
