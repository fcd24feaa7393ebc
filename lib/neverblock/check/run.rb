# frozen_string_literal: true

# Runs an Inspection in a child process and collects its messages. So an application that crashes,
# ends the process or never returns is a finding like any other.

require "io/wait"
require "json"
require "neverblock/check/finding"
require "neverblock/config/source_error"
require "neverblock/log/characters"
require "neverblock/verbs/deadline"
require "tempfile"

module NeverBlock
  module Check
    class Run
      # Seconds without a message from the child, after which it is ended. A large application may
      # take a minute to load.
      SILENCE_S = 180
      # Seconds between two checks whether the child has ended.
      LOOK_S = 1
      # Seconds the child has to send its backtrace before it is killed.
      LAST_WORDS_S = 5
      # Most bytes that are read of the child's output.
      OUTPUT_BYTES = 4 << 20
      # Characters of the output's end that are shown. Of Ruby's crash report, whose end is a table
      # of memory maps, the first line is shown.
      TAIL_CHARACTERS = 600
      LINE_MAX = 1 << 20
      # Characters of a text that the child sends.
      TEXT_CHARACTERS = 4_000
      SHOWN = "NB_DEBUG=1 shows its output"
      private_constant :SHOWN

      # @return [Array<Finding>] sorted, worst first
      attr_reader :findings
      # @return [Hash{Symbol => Object}] ruby:, workers:, fibers:, lock:, gems:
      attr_reader :facts

      # @param silence_s [Numeric] seconds
      # @param verbose [Boolean] whether the application's output is shown, on standard error
      # @yieldparam tell [#call] in the child; called with each message of Inspection
      def initialize(silence_s: SILENCE_S, verbose: false, &work)
        @silence_s = silence_s
        @verbose = verbose
        @work = work
        @findings = []
        @facts = {}
        @stage = "starting"
      end

      # @return [self]
      def run
        output = Tempfile.new("neverblock-check")
        output.unlink
        reader, writer = IO.pipe
        @child = fork { in_child(reader, writer, output) }
        @ending = ::Process.detach(@child)
        own_group
        writer.close
        listen(reader)
        conclude(output)
        self
      ensure
        end_group
        [reader, writer, output].compact.each(&:close)
      end

      # @return [Boolean]
      def serious?
        findings.any?(&:serious?)
      end

      private

      # Makes a process group, so that the processes the application starts can be ended with it.
      def own_group
        ::Process.setpgid(@child, @child)
      rescue Errno::ESRCH, Errno::EACCES
        nil
      end

      # --- in the child ---

      def in_child(reader, writer, output)
        ::Process.setpgid(0, 0) # in both processes, so that it is done before either goes on
        reader.close
        redirect(output)
        tell = teller(writer)
        trap_last_words(tell)
        @work.call(tell)
      rescue SystemExit => e
        tell&.call({ exit: e.status, at: e.backtrace&.first })
      rescue Exception => e # rubocop:disable Lint/RescueException -- loading may raise anything
        tell&.call({ died: "#{e.class}: #{SourceError.summary(e)}", at: e.backtrace&.first })
      ensure
        ::Process.exit!(0) # without at_exit blocks of the application, and whatever threads it has
      end

      # A child that the application has forked sends nothing: its end is not the application's.
      def teller(writer)
        own = ::Process.pid
        writer.sync = true
        lambda do |message|
          writer.write("#{JSON.generate(clean(message))}\n") if ::Process.pid == own
        end
      end

      def redirect(output)
        $stdin.reopen(File::NULL)
        $stdout.reopen(@verbose ? $stderr : output)
        $stderr.reopen(output) unless @verbose
        $stdout.sync = true
      end

      # On a signal from the parent, which has waited long, the child sends its backtrace and exits.
      def trap_last_words(tell)
        Signal.trap("USR2") do
          lines = ::Thread.main.backtrace.to_a.reject { |line| line.include?("/neverblock/check/") }
          tell.call({ stuck: lines.first(3) })
          ::Process.exit!(0)
        end
      end

      def clean(value)
        case value
        when Hash then value.transform_values { |part| clean(part) }
        when Array then value.map { |part| clean(part) }
        when String then cut(Log::Characters.scrubbed(value))
        else value
        end
      end

      def cut(text)
        text.size > TEXT_CHARACTERS ? "#{text[0, TEXT_CHARACTERS - 3]}..." : text
      end

      # --- in the parent ---

      def listen(reader)
        buffer = +""
        until @done || @end
          case wait(reader)
          when :ended then return
          when :silence then return silent(reader, buffer)
          end
          buffer << reader.readpartial(65_536)
          take_lines(buffer)
        end
      rescue EOFError
        @silent = true unless @ending.join(@silence_s)
      end

      # Waits for a message. The pipe alone does not tell that the child has ended: a process that
      # the application has started may hold it.
      # @return [Symbol] :message, :ended or :silence
      def wait(reader)
        limit = Deadline.now + @silence_s
        loop do
          left = limit - Deadline.now
          return :message if reader.wait_readable(left.clamp(0, LOOK_S))
          return reader.wait_readable(0) ? :message : :ended unless @ending.alive?
          return :silence if left <= LOOK_S
        end
      end

      def take_lines(buffer)
        while (line = buffer.slice!(/\A.*\n/))
          hear(JSON.parse(line))
        end
        return if buffer.bytesize <= LINE_MAX

        raise Error, "the child of neverblock check sent a line of over #{LINE_MAX} bytes"
      end

      def silent(reader, buffer)
        @silent = true
        ::Process.kill("USR2", @child)
        until @stuck || @end || @done || !reader.wait_readable(LAST_WORDS_S)
          buffer << reader.readpartial(65_536)
          take_lines(buffer)
        end
      rescue EOFError, Errno::ESRCH
        nil
      end

      def hear(message)
        if message.key?("stage")
          @stage = message["stage"]
          @done = @stage.nil?
        end
        @findings << Finding.read(message["finding"]) if message["finding"]
        @facts = message["facts"].transform_keys(&:to_sym) if message["facts"]
        @stuck = message["stuck"] if message["stuck"]
        @end = message if message.key?("exit") || message.key?("died")
      end

      def conclude(output)
        end_group if @silent
        @findings << ending(@ending.value, output) unless @done
        sorted = @findings.uniq.sort_by.with_index { |one, at| [LEVELS.index(one.level), at] }
        @findings = sorted
      end

      def ending(status, output)
        seen, mend = how_it_ended(status)
        Finding.of(:serious, "application", "#{seen} while #{@stage}#{tail(output)}", mend)
      end

      def how_it_ended(status)
        return reported if @end
        return stuck if @silent
        return ["the application ended the process (exit!)", SHOWN] unless status.signaled?

        ["the process was ended by SIG#{Signal.signame(status.termsig)}",
         "#{SHOWN}, with the report of a crash"]
      end

      def stuck
        at = " at #{@stuck.join(", ")}" if @stuck&.any?
        seconds = format("%g", @silence_s)
        ["there was no progress for #{seconds} s#{at}", "make that code end; #{SHOWN}"]
      end

      # As the child has reported it.
      def reported
        at = " at #{@end["at"]}" if @end["at"]
        return ["#{@end["died"]}#{at}", SHOWN] unless @end.key?("exit")

        ["the application ended the process (exit #{@end["exit"]}#{at})", ended_mend]
      end

      def ended_mend
        @end["at"].to_s.include?("bundler/setup") ? "bundle install" : SHOWN
      end

      def tail(output)
        size = output.size
        return "" if @verbose || size.zero?

        output.seek([size - OUTPUT_BYTES, 0].max)
        text = output.read.to_s.force_encoding(Encoding::UTF_8).scrub("?").gsub(/\e\[[\d;]*m/, "")
        text = text[/^.*\[BUG\].*$/] || text[-TAIL_CHARACTERS..] || text
        text = text.gsub(/[[:space:]]+/, " ").strip
        text.empty? ? "" : "; its output: #{text}"
      end

      # Ends the child and all processes it has started.
      def end_group
        return unless @ending

        kill(-@child)
        kill(@child) if @ending.alive?
        @ending.join
      end

      def kill(pid)
        ::Process.kill("KILL", pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end
    end
  end
end
