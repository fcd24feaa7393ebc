# frozen_string_literal: true

# Another process of this machine, known by its number: whether it still is the same one, what it is called, and whether NeverBlock runs in it. /proc (proc(5))
# tells where there is one; without it nothing but its being alive is known.

module NeverBlock
  class Server
    class OtherProcess
      COMMAND_BYTES_MAX = 60
      # Of the third field of /proc/PID/stat: it has ended, and its parent has not asked how.
      ENDED = %w[Z X].freeze
      # The native part, as the memory map of a process names it.
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

      # @return [Boolean] false also where its number is another's by now
      def alive?
        ::Process.kill(0, pid)
        state, now = state_and_start
        state.nil? || !(ENDED.include?(state) || (@started && now != @started))
      rescue Errno::ESRCH, RangeError
        false
      rescue Errno::EPERM
        true
      end

      # @return [String] its command line, cut; empty when it is not known
      def command
        text = words.empty? ? File.read(file("comm")).strip : words
        text.size > COMMAND_BYTES_MAX ? "#{text[0, COMMAND_BYTES_MAX]}..." : text
      rescue SystemCallError
        ""
      end

      # @return [Boolean] whether NeverBlock runs in it, or is about to; true as well when that is not ours to see, or not told here
      def neverblock?
        words.include?("neverblock") || File.foreach(file("maps")).any? { |line| line.include?(OURS) }
      rescue Errno::EACCES
        !::Process.euid.zero? # root is kept from processes that are none of an application's
      rescue SystemCallError
        true
      end

      private

      def words
        File.binread(file("cmdline")).scrub("?").split("\0").join(" ").strip.gsub(/[[:cntrl:]]/, "?")
      end

      def started
        state_and_start.last
      end

      # The command's name, in parentheses, may have blanks and parentheses.
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
