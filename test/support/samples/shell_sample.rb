# frozen_string_literal: true

require "open3"
require_relative "live_server"

module Samples
  # A sample of a shell, run by bash. The programs of samples/commands come first in its PATH.
  class ShellSample
    COMMANDS = File.join(__dir__, "commands")
    PROGRAMS = %w[neverblock bundle curl].freeze

    def initialize(block, sandbox)
      @block = block
      @sandbox = sandbox
    end

    # @raise [RuntimeError] with what it printed, when it does not end with status 0
    def run
      output = bash(@sandbox.localize(script))
      expected = lines.grep_v(/\A\$ /).join
      return if expected.empty? || output.include?(expected)

      raise "printed #{output.inspect}, expected #{expected.inspect}"
    end

    private

    def lines = @block.kind == "console" ? @block.text.lines : []

    def script
      return @block.text unless @block.kind == "console"

      @block.text.lines.grep(/\A\$ /).map { |line| line.delete_prefix("$ ") }.join
    end

    def bash(script)
      env = LiveServer.env.merge(
        "PATH" => "#{programs}:#{ENV.fetch("PATH")}", "HOME" => @sandbox.folder,
        "SAMPLES_ROOT" => ROOT, "TMPDIR" => @sandbox.at("tmp"), "PORT" => nil
      )
      words = ["timeout", Patience::SECONDS.to_s, "bash", "-e", "-o", "pipefail", "-c", script]
      output, status = Open3.capture2e(env, *words, chdir: @sandbox.folder)
      raise "status #{status.exitstatus}: #{output}" unless status.success?

      output
    end

    # @return [String] a folder of the sandbox
    def programs
      PROGRAMS.each { |name| command(".programs/#{name}", "#{name}.rb") }
      Dir.children(File.join(ROOT, "bin")).each { |name| command("bin/#{name}", "of_bin.rb", name) }
      @sandbox.at(".programs")
    end

    def command(path, file, *words)
      words = [RbConfig.ruby, File.join(COMMANDS, file), *words]
      File.chmod(0o755, @sandbox.write(path, "#!/bin/sh\nexec #{words.join(" ")} \"$@\"\n"))
    end
  end
end
