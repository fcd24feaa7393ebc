# frozen_string_literal: true

# Each row is played in a process of its own. One that crashes Ruby, or blocks with Ruby's lock
# held, is one failed row, and none sees what another left.

require "json"
require "tmpdir"
require_relative "stage"

module HookTable
  module Isolation
    LIMIT_S = 120
    # On a machine that may stand still for longer than a wait that ends by itself.
    PLAYS_MAX = 5

    module_function

    # One play in which others ran proves that a row yields. That they did not may be the machine's
    # doing, so it is played again.
    # @param bounds [Hash] of Stage.new
    # @return [Hash] as Stage#play
    def prove(row, **bounds)
      played = nil
      PLAYS_MAX.times do
        played = play(row, **bounds)
        break unless played["verdict"] == "blocks" && row.excuse.nil?
      end
      played
    end

    # @param limit_s [Numeric] after so long without an answer the row has failed
    # @param bounds [Hash] of Stage.new
    # @return [Hash] as Stage#play
    def play(row, limit_s: LIMIT_S, **bounds)
      Dir.mktmpdir("nb-hooks") do |folder|
        reader, writer = IO.pipe
        pid = fork { child(Stage.new(row, folder: folder, **bounds), reader, writer) }
        writer.close
        answer(pid, reader, limit_s)
      end
    end

    def child(stage, reader, writer)
      reader.close
      Process.setpgid(0, 0)
      Warning[:experimental] = false
      writer.write(JSON.generate(stage.play))
      writer.close
    ensure
      exit!(0)
    end

    def answer(pid, reader, limit_s)
      text = read(reader, limit_s)
      signal_group(pid)
      _, status = Process.wait2(pid)
      return failed("no answer after #{limit_s} s: Ruby's lock was held") unless text
      return failed("the process ended without an answer (#{status})") if text.empty?

      JSON.parse(text)
    ensure
      reader.close
    end

    def failed(detail)
      { "verdict" => "failed", "detail" => detail }
    end

    # Until the end of the pipe, which a grandchild may hold open, or the end of the answer.
    def read(reader, limit_s)
      text = +""
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit_s
      until text.end_with?("}")
        left = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        return nil unless left.positive? && reader.wait_readable(left)

        part = reader.read_nonblock(65_536, exception: false)
        return text if part.nil?

        text << part unless part == :wait_readable
      end
      text
    end

    def signal_group(pid)
      Process.kill("KILL", -pid)
    rescue Errno::ESRCH, Errno::EPERM
      nil
    end
  end
end
