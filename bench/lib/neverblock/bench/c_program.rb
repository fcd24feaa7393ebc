# frozen_string_literal: true

require "fileutils"

module NeverBlock
  module Bench
    # A load generator in C, one file under benchmark/c, built when it is first needed. A Ruby program would be late itself where a collection or another
    # thread comes between, and its latencies would be its own.
    class CProgram
      MISSING = "no C compiler: this load needs cc (Debian: package gcc)"
      COMPILE_SECONDS_MAX = 60

      # @return [String] what starts it
      attr_reader :path

      # @param name [String] of the source, without folder and extension
      # @param home [String] where the program is built
      def initialize(name, home: Bundle.home(ROOT))
        @name = name
        @source = File.join(ROOT, "benchmark/c/#{name}.c")
        @path = File.join(home, name)
      end

      # @return [String] its path, when it is there and not older than its source
      # @raise [Error] when it cannot be built
      def build
        return @path if File.exist?(@path) && File.mtime(@path) >= File.mtime(@source)

        FileUtils.mkdir_p(File.dirname(@path))
        fresh = "#{@path}.#{Process.pid}"
        said = Child.capture(["cc", "-O2", "-o", fresh, @source], limit_seconds: COMPILE_SECONDS_MAX)
        raise Error, "#{@name}.c does not compile: #{said.lines.first}" unless File.exist?(fresh)

        File.rename(fresh, @path) # another checkout may be building into the same folder
        @path
      rescue Errno::ENOENT
        raise Error, MISSING
      end
    end
  end
end
