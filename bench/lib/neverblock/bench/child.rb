# frozen_string_literal: true

require "tempfile"

module NeverBlock
  module Bench
    # Runs a program to its end, bounded in time.
    module Child
      class << self
        # @param command [Array<String>]
        # @param limit_seconds [Numeric] the program is killed after that
        # @param environment [Hash{String => String}]
        # @param input [String, nil] standard input; passed as a file, so that writing never blocks
        # @param options [Hash] of Process.spawn
        # @yieldparam line [String] each line of output, when it arrives
        # @return [String] all output, with standard error
        # @raise [Errno::ENOENT] when there is no such program
        def capture(command, limit_seconds:, environment: {}, input: nil, **options)
          reader, writer = IO.pipe
          source = input ? stored(input) : File.open(File::NULL)
          pid = Process.spawn(environment, *command, out: writer, err: writer, in: source,
                                                     **options)
          writer.close
          guard = Thread.new { sleep(limit_seconds) && Process.kill(:KILL, pid) }
          text = +""
          reader.each_line do |line|
            text << line
            yield line if block_given?
          end
          guard.kill.join
          pid = Process.wait(pid) && nil
          text
        ensure
          guard&.kill&.join
          [reader, writer, source].compact.each(&:close)
          finish(pid) if pid
        end

        # @return [Float] CPU seconds of all children that were waited for
        def cpu_seconds
          times = Process.times
          times.cutime + times.cstime
        end

        private

        def stored(text)
          file = Tempfile.create("neverblock-bench")
          File.unlink(file.path)
          file.write(text)
          file.rewind
          file
        end

        # The id of a child that was not waited for cannot belong to another process.
        def finish(pid)
          Process.kill(:KILL, pid)
          Process.wait(pid)
        end
      end
    end
  end
end
