# frozen_string_literal: true

# Makes the advice for /advice.json when the I/O loop asks for it, in a process of its own: reading
# the application's code takes CPU time, and would hold up requests here. The process is
# `neverblock advise --json`, at the lowest priority.

require "json"
require "rbconfig"
require "neverblock/verbs/deadline"

module NeverBlock
  class Server
    class Advice
      COMMAND = [RbConfig.ruby, "-I", File.expand_path("../..", __dir__),
                 File.expand_path("../../../exe/neverblock", __dir__), "advise", "--json",
                 "-C", "-"].freeze
      # Of a worker's process; here it would make one.
      ENVIRONMENT = { "NEVERBLOCK_MOLD" => nil }.freeze
      # The process is ended when it takes longer, in seconds; or says more, in bytes.
      PATIENCE_S = 30
      BYTES_MAX = 1 << 20
      NICE = 19

      # @param engine [Engine]
      # @param url [String] the admin address
      # @param command [Array<String>]
      def initialize(engine, url, command: COMMAND)
        @engine = engine
        @command = [*command, "--admin", url]
      end

      # Begins, unless it is under way. Returns at once.
      # @return [void]
      def ask
        return if @thread&.alive?

        @thread = Thread.new { give(run) }
        @thread.name = "nb-advice"
      end

      # Ends it.
      # @return [void]
      def close
        @thread&.kill&.join
      end

      private

      def give(json)
        @engine.admin_advice = json
      rescue Error
        nil # the server has ended
      end

      # @return [String] JSON
      def run
        reader, writer = IO.pipe
        pid = Process.spawn(ENVIRONMENT, *@command, in: File::NULL, out: writer, err: writer)
        writer.close
        Process.setpriority(Process::PRIO_PROCESS, pid, NICE)
        text = read(reader)
        document(text)
      rescue SystemCallError => e
        failure(e.message)
      ensure
        [reader, writer].each { |io| io&.close }
        finish(pid, kill: text.nil?) if pid
      end

      def read(reader)
        text = +"".b
        until_s = Deadline.now + PATIENCE_S
        while text.bytesize <= BYTES_MAX
          left_s = until_s - Deadline.now
          return nil if left_s <= 0 || !reader.wait_readable(left_s)

          text << reader.readpartial(BYTES_MAX)
        end
        nil
      rescue EOFError
        text
      end

      # What is no JSON is the command's error message, or a warning.
      def document(text)
        return failure("`neverblock advise` has taken too long, or said too much") if text.nil?

        line = text.lines.reverse.find { |found| found.start_with?("{") }
        return failure(text.force_encoding(Encoding::UTF_8).scrub("?").strip) if line.nil?

        line
      end

      def failure(words)
        "#{JSON.generate({ "advice" => [], "error" => words[0, 1000] })}\n"
      end

      # A front takes the status of every child that has ended.
      def finish(pid, kill:)
        Process.kill(:KILL, pid) if kill
        Process.wait(pid)
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      end
    end
  end
end
