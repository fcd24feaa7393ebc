# frozen_string_literal: true

require "tempfile"

module NeverBlock
  module Bench
    # The load generator in turns: one wrk for each of several servers. One wrk at a time runs
    # (SIGCONT), then it is stopped again (SIGSTOP) with its requests in progress. Turns are so
    # short that a change of the machine's speed affects all servers alike.
    class WrkTurns
      TURN_SECONDS = 0.1
      # After wrk has been stopped, a server still answers the requests it has received.
      PAUSE_SECONDS = 0.002
      # Time of each wrk alone at its start, to open its connections; it counts as a turn.
      START_SECONDS = 0.5
      ASK_SECONDS = 0.02

      def initialize(wrk: Wrk.new)
        @wrk = wrk
      end

      # @param load [Load]
      # @param urls [Array<String>] of the servers, without path
      # @param seconds [Numeric] for each server
      # @return [Array<Wrk::Outcome>] in the order of the urls; their seconds cover the turns of all
      # @raise [Error] when wrk fails or does not end
      def run(load, urls:, seconds:)
        children = []
        Tempfile.create(["neverblock-bench", ".lua"]) do |script|
          script.write(Wrk.script(pipeline: load.pipeline))
          script.close
          limit = urls.size * (START_SECONDS + (2 * seconds)) + Wrk::GRACE_SECONDS
          urls.each { |url| children << start(@wrk.command(load, url, limit, script.path)) }
          take_turns(children, (seconds / TURN_SECONDS).ceil)
          children.map { |child| Wrk.parse(finish(child), pipeline: load.pipeline) }
        end
      rescue Errno::ENOENT
        raise Error, Wrk::MISSING
      ensure
        children.each { |child| discard(child) }
      end

      private

      # ended: the process was waited for, so that its id may belong to another.
      Started = Struct.new(:pid, :output, :ended)
      private_constant :Started

      # Another one begins each round.
      def take_turns(children, rounds)
        rounds.times do |turn|
          children.rotate(turn).each { |child| let_go(child, TURN_SECONDS) }
        end
      end

      def start(command)
        output = Tempfile.new("neverblock-bench")
        pid = Process.spawn(*command, out: output, err: output, in: File::NULL)
        child = Started.new(pid, output)
        sleep(START_SECONDS)
        sleep(ASK_SECONDS) until to_be_ended?(child.pid)
        Process.kill(:STOP, child.pid)
        child
      end

      # @return [Boolean] whether SIGINT makes it print its summary by now (SigCgt of proc(5)), or
      #   it has ended by itself
      def to_be_ended?(pid)
        status = File.read("/proc/#{pid}/status")
        return true if status.match?(/^State:\tZ/)

        status[/^SigCgt:\t(\h+)/, 1].hex[Signal.list["INT"] - 1] == 1
      end

      def let_go(child, seconds)
        Process.kill(:CONT, child.pid)
        sleep(seconds)
        Process.kill(:STOP, child.pid)
        sleep(PAUSE_SECONDS)
      end

      # SIGINT is sent until wrk has ended: any of its threads may receive it, and only the first
      # thread's sleep must be interrupted.
      # @return [String] all of its output
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
