# frozen_string_literal: true

# Runs an Inspection in a child process and gathers what it tells, so that an application that crashes, ends the process or never comes back is a finding like others.

require "io/wait"
require "json"
require "neverblock/check/finding"
require "tempfile"

module NeverBlock
  module Check
    class Run
      # Seconds without a word from the child, after which it is ended: a large application may take a minute to load.
      SILENCE_S = 180
      # Seconds in which the child tells where it is, before it is killed.
      LAST_WORDS_S = 5
      # Of what the child has written, how much is read, and how much of its end is shown: of Ruby's report of a crash, whose end is a table of memory maps, its first line.
      OUTPUT_BYTES = 4 << 20
      TAIL_CHARACTERS = 600
      LINE_MAX = 1 << 20
      SHOWN = "NB_DEBUG=1 shows what it writes"
      private_constant :SHOWN

      # @return [Array<Finding>] worst first
      attr_reader :findings
      # @return [Hash{Symbol => Object}] ruby:, workers:, fibers:, lock:, gems:
      attr_reader :facts

      # @param environment_name [String] what the application runs as
      # @param silence_s [Numeric] seconds
      # @param verbose [Boolean] whether what the application writes is shown, on standard error
      # @yieldparam tell [#call] in the child; takes each message of Inspection
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
        @child = @group = fork { in_child(reader, writer, output) }
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

      # What it starts can be ended with it.
      def own_group
        ::Process.setpgid(@child, @child)
      rescue Errno::ESRCH, Errno::EACCES
        nil
      end

      # --- in the child ---

      def in_child(reader, writer, output)
        ::Process.setpgid(0, 0) # before it starts anything; the parent does it too, before it ends anything
        reader.close
        redirect(output)
        tell = ->(message) { writer.syswrite("#{JSON.generate(clean(message))}\n") }
        trap_last_words(tell)
        @work.call(tell)
      rescue SystemExit => e
        tell&.call({ exit: e.status, at: e.backtrace&.first })
      rescue Exception => e # rubocop:disable Lint/RescueException -- whatever comes out of an application's loading
        tell&.call({ died: "#{e.class}: #{e.message}", at: e.backtrace&.first })
      ensure
        ::Process.exit!(0) # without the application's at_exit blocks, and whatever threads it has
      end

      def redirect(output)
        $stdin.reopen(File::NULL)
        $stdout.reopen(@verbose ? $stderr : output)
        $stderr.reopen(output) unless @verbose
        $stdout.sync = true
      end

      # Asked for by the parent, when it has heard nothing for long.
      def trap_last_words(tell)
        Signal.trap("USR2") do
          tell.call({ stuck: ::Thread.main.backtrace.to_a.reject { |line| line.include?("/neverblock/check/") }.first(3) })
          ::Process.exit!(0)
        end
      end

      def clean(value)
        case value
        when Hash then value.transform_values { |part| clean(part) }
        when Array then value.map { |part| clean(part) }
        when String then value.dup.force_encoding(Encoding::UTF_8).scrub("?")
        else value
        end
      end

      # --- in the parent ---

      def listen(reader)
        buffer = +""
        until @done
          return silent(reader, buffer) unless reader.wait_readable(@silence_s)

          buffer << reader.readpartial(65_536)
          take_lines(buffer)
        end
      rescue EOFError
        nil
      end

      def take_lines(buffer)
        while (line = buffer.slice!(/\A.*\n/))
          hear(JSON.parse(line))
        end
        raise Error, "the child of neverblock check told a line of over #{LINE_MAX} bytes" if buffer.bytesize > LINE_MAX
      end

      def silent(reader, buffer)
        @stuck = []
        ::Process.kill("USR2", @child)
        while reader.wait_readable(LAST_WORDS_S)
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
        ::Process.kill("KILL", @child) if @stuck
        _, status = ::Process.wait2(@child)
        @child = nil
        @findings << ending(status, output) unless @done
        @findings = @findings.uniq.sort_by.with_index { |finding, at| [LEVELS.index(finding.level), at] }
      end

      def ending(status, output)
        seen, mend = how_it_ended(status)
        Finding.of(:serious, "application", "#{seen} while #{@stage}#{tail(output)}", mend)
      end

      def how_it_ended(status)
        return ["nothing has happened for #{@silence_s} s#{" at #{@stuck.join(", ")}" unless @stuck.empty?}", "what runs there should end; #{SHOWN}"] if @stuck
        return ["the application ended the process (exit #{@end["exit"]}#{" at #{@end["at"]}" if @end["at"]})", ended_mend] if @end&.key?("exit")
        return ["#{@end["died"]}#{" at #{@end["at"]}" if @end["at"]}", SHOWN] if @end
        return ["the process was ended by SIG#{Signal.signame(status.termsig)}", "#{SHOWN}: a crash of an extension is told there"] if status.signaled?

        ["the application ended the process (exit!)", SHOWN]
      end

      def ended_mend
        @end["at"].to_s.include?("bundler/setup") ? "bundle install" : SHOWN
      end

      def tail(output)
        size = output.size
        return "" if @verbose || size.zero?

        output.seek([size - OUTPUT_BYTES, 0].max)
        text = output.read.to_s.scrub("?").gsub(/\e\[[\d;]*m/, "")
        text = (text[/^.*\[BUG\].*$/] || text[-TAIL_CHARACTERS..] || text).gsub(/[[:space:]]+/, " ").strip
        text.empty? ? "" : "; it wrote: #{text}"
      end

      # What the application has started goes with it.
      def end_group
        ::Process.kill("KILL", -@group) if @group
        ::Process.wait(@child) if @child # interrupted
      rescue Errno::ESRCH, Errno::ECHILD, Errno::EPERM
        nil
      end
    end
  end
end
