# frozen_string_literal: true

require "fileutils"

module NeverBlock
  module Bench
    # A load generator in C: one file under benchmark/c, compiled at first use. In Ruby, garbage
    # collection and other threads would delay the generator itself and falsify its latencies.
    class CProgram
      MISSING = "there is no C compiler: this load needs cc (Debian: package gcc)"
      COMPILE_SECONDS_MAX = 60

      # @param text [String] all of a load generator's output, which is not whole
      # @return [Error]
      def self.failure(text)
        Error.new("the load generator failed: #{text.lines.last(2).join.strip[0, 200]}")
      end

      # @return [String] path of the program
      attr_reader :path

      # @param name [String] name of the source, without folder and extension
      # @param home [String] folder of the compiled program
      # @param libraries [Array<String>] that it is linked with
      def initialize(name, home: Bundle.home(ROOT), libraries: [])
        @name = name
        @libraries = libraries
        @source = File.join(ROOT, "benchmark/c/#{name}.c")
        @path = File.join(home, name)
      end

      # @param arguments [Array<#to_s>]
      # @return [Array(String, Float)] all of its output, and its CPU seconds
      # @raise [Error] when it cannot be built, or does not end in time
      def run(arguments, limit_seconds:)
        command = [build, *arguments.map(&:to_s)]
        before = Child.cpu_seconds
        text = Child.capture(command, limit_seconds: limit_seconds)
        [text, Child.cpu_seconds - before]
      end

      # @return [String] the path of a program that is not older than its source
      # @raise [Error] when it cannot be built
      def build
        return @path if File.exist?(@path) && File.mtime(@path) >= File.mtime(@source)

        FileUtils.mkdir_p(File.dirname(@path))
        fresh = "#{@path}.#{Process.pid}"
        command = ["cc", "-O2", "-o", fresh, @source, *@libraries.map { |name| "-l#{name}" }]
        said = Child.capture(command, limit_seconds: COMPILE_SECONDS_MAX)
        raise Error, "#{@name}.c does not compile: #{said.lines.first}" unless File.exist?(fresh)

        File.rename(fresh, @path) # atomic: another checkout may build into the same folder
        @path
      rescue Errno::ENOENT
        raise Error, MISSING
      end
    end
  end
end
