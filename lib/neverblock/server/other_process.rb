# frozen_string_literal: true

# Another process of this machine, identified by its process id: whether it still runs, its command
# line, and whether it is NeverBlock. The facts come from /proc (proc(5)); without it only its
# existence is known.

module NeverBlock
  class Server
    class OtherProcess
      COMMAND_BYTES_MAX = 60
      # Of an absolute path; left out of a long command line, whose programs' names count.
      FOLDERS = %r{(?<=\A| )/\S*/(?=[^/ ])}.freeze
      # States in the third field of /proc/PID/stat of a process that has ended and is not reaped.
      ENDED = %w[Z X].freeze
      # Name of the native part in a process's memory map.
      OURS = "neverblock.so"

      # @return [Integer]
      attr_reader :pid

      # @param pid [Integer]
      # @param proc_root [String]
      def initialize(pid, proc_root: "/proc")
        @pid = pid
        @proc_root = proc_root
        @started = started
      end

      # @return [Boolean] false also when another process has its id by now
      def alive?
        ::Process.kill(0, pid)
        state, now = state_and_start
        state.nil? || !(ENDED.include?(state) || (@started && now != @started))
      rescue Errno::ESRCH, RangeError
        false
      rescue Errno::EPERM
        true
      end

      # @return [String] its command line, shortened; empty when unknown
      def command
        text = words.empty? ? File.read(file("comm")).strip : words
        text = text.gsub(FOLDERS, "") if text.size > COMMAND_BYTES_MAX
        text.size > COMMAND_BYTES_MAX ? "#{text[0, COMMAND_BYTES_MAX]}..." : text
      rescue SystemCallError
        ""
      end

      # @return [Boolean] whether it is NeverBlock, or about to be; true also when that cannot be
      #   known
      def neverblock?
        return true if words.include?("neverblock")

        File.foreach(file("maps")).any? { |line| line.include?(OURS) }
      rescue Errno::EACCES
        !::Process.euid.zero? # only system processes are hidden from root
      rescue SystemCallError
        true
      end

      private

      def words
        line = File.binread(file("cmdline")).scrub("?").split("\0").join(" ")
        line.strip.gsub(/[[:cntrl:]]/, "?")
      end

      def started
        state_and_start.last
      end

      # Splits after the command's name, which may have blanks and parentheses.
      def state_and_start
        fields = File.read(file("stat")).rpartition(")").last.split
        [fields[0], fields[19]]
      rescue SystemCallError
        [nil, nil]
      end

      def file(name)
        File.join(@proc_root, pid.to_s, name)
      end
    end
  end
end
