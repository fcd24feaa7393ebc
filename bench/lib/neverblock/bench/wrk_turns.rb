# frozen_string_literal: true

require "tempfile"

module NeverBlock
  module Bench
    # The load generator by turns: a wrk for each of several servers, of which one at a time is let go on (SIGCONT) and then stopped again (SIGSTOP), with all that is under
    # way in it. So short are the turns that a machine which changes its speed changes it for all of them.
    class WrkTurns
      TURN_SECONDS = 0.1
      # After it has been stopped a server still answers what it has been sent.
      PAUSE_SECONDS = 0.002
      # Alone, to open its connections; it is a turn like others.
      START_SECONDS = 0.5
      ASK_SECONDS = 0.02

      # @param wrk [Wrk]
      def initialize(wrk: Wrk.new)
        @wrk = wrk
      end

      # @param load [Load]
      # @param urls [Array<String>] of the servers, without path
      # @param seconds [Numeric] for each of them
      # @return [Array<Wrk::Outcome>] in the order of the urls; their seconds count the turns of all
      # @raise [Error] when wrk fails or does not end
      def run(load, urls:, seconds:)
        children = []
        Tempfile.create(["neverblock-bench", ".lua"]) do |script|
          script.write(Wrk.script(pipeline: load.pipeline))
          script.close
          limit = urls.size * (START_SECONDS + (2 * seconds)) + Wrk::GRACE_SECONDS
          urls.each { |url| children << start(@wrk.command(load, url, limit, script.path)) }
          (seconds / TURN_SECONDS).ceil.times { |turn| children.rotate(turn).each { |child| let_go(child, TURN_SECONDS) } }
          children.map { |child| Wrk.parse(finish(child), pipeline: load.pipeline) }
        end
      rescue Errno::ENOENT
        raise Error, Wrk::MISSING
      ensure
        children.each { |child| discard(child) }
      end

      private

      # ended: it was waited for, and its id may be another's.
      Started = Struct.new(:pid, :output, :ended)
      private_constant :Started

      def start(command)
        output = Tempfile.new("neverblock-bench")
        child = Started.new(Process.spawn(*command, out: output, err: output, in: File::NULL), output)
        sleep(START_SECONDS)
        sleep(ASK_SECONDS) until to_be_ended?(child.pid)
        Process.kill(:STOP, child.pid)
        child
      end

      # @return [Boolean] SIGINT makes it print its summary by now (SigCgt of proc(5)), or it has ended by itself
      def to_be_ended?(pid)
        status = File.read("/proc/#{pid}/status")
        status.match?(/^State:\tZ/) || status[/^SigCgt:\t(\h+)/, 1].hex[Signal.list["INT"] - 1] == 1
      end

      def let_go(child, seconds)
        Process.kill(:CONT, child.pid)
        sleep(seconds)
        Process.kill(:STOP, child.pid)
        sleep(PAUSE_SECONDS)
      end

      # It is told until it has ended: right after it was stopped any of its threads may take care of a signal, and only the first's sleep is to be ended by it.
      # @return [String] all that it printed
      def finish(child)
        limit = now + Wrk::GRACE_SECONDS
        Process.kill(:CONT, child.pid)
        until (child.ended = Process.wait(child.pid, Process::WNOHANG))
          Process.kill(now < limit ? :INT : :KILL, child.pid)
          sleep(ASK_SECONDS)
        end
        child.output.rewind
        child.output.read
      end

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      def discard(child)
        unless child.ended
          Process.kill(:KILL, child.pid)
          Process.wait(child.pid)
        end
        child.output.close!
      end
    end
  end
end
