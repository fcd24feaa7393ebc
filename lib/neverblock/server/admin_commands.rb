# frozen_string_literal: true

# Commands that clients of the admin address give: with its token reload, and more or fewer workers;
# and that advice is made. The I/O loop writes each into a pipe, as one byte (core/server/server.h).
# Changes are done one after the other, on a thread of their own, and /status.json tells how the
# last one has ended.

require "io/nonblock"
require "neverblock/errors"
require "neverblock/server/advice"

module NeverBlock
  class Server
    class AdminCommands
      # By byte: the command of the control socket, its argument, and its name for people.
      CHANGES = {
        "r" => ["reload", nil, "reload"],
        "+" => ["workers", "+1", "one worker more"],
        "-" => ["workers", "-1", "one worker less"]
      }.freeze
      ADVICE = "a"

      # @param engine [Engine] not started
      # @param url [String] the admin address
      # @param commands [Hash{String => #call}, nil] see Control#initialize; nil: there are none
      # @param log [Log]
      def initialize(engine, url, commands, log)
        @engine = engine
        @commands = commands
        @log = log
        @advice = Advice.new(engine, url)
        @reader, @writer = IO.pipe
        @writer.nonblock = true
        engine.admin_commands(@writer.fileno, !commands.nil?)
      end

      # @return [void]
      def start
        @thread = Thread.new { run }
        @thread.name = "nb-admin"
      end

      # To be called when the I/O loops have ended.
      # @return [void]
      def close
        @thread&.kill&.join
        @advice.close
        [@reader, @writer].each(&:close)
      end

      private

      def run
        while (byte = @reader.getc)
          next @advice.ask if byte == ADVICE

          name, argument, words = CHANGES[byte]
          carry_out(name, argument, words) if name && @commands
        end
      end

      def carry_out(name, argument, words)
        @log.info("#{words}, asked for at the admin address")
        result = @commands.fetch(name).call(argument) { nil }
        tell(true, "#{words}: #{result[:message] || "done"}")
      rescue StandardError => e
        @log.warn("#{words}, asked for at the admin address: #{e.message}")
        tell(false, "#{words}: #{e.message}")
      end

      def tell(done, words)
        @engine.admin_result(done, words.lines.first.to_s.delete("\0").chomp)
      end
    end
  end
end
