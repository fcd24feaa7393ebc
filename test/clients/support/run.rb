# frozen_string_literal: true

# The checks of one library, run once in a process of its own. No library sees what another has
# loaded. A library that hangs or crashes loses only the results that it has not written yet.

require "json"
require "rbconfig"
require "tempfile"
require "timeout"
require_relative "bundle"
require_relative "library"

module Clients
  class Run
    # Longer than what one check may take (probe.rb), as several may be slow.
    LIMIT_S = 110

    attr_reader :version, :trouble

    # @param library [Library]
    # @param backends [Backends]
    def initialize(library, backends)
      @library = library
      @backends = backends
    end

    # @return [Hash, nil] of a check: "verdict", "seconds", "detail"; nil when the process ended
    #   before
    # @raise [Services::Unavailable, Bundle::Unavailable] when it cannot be run here
    def result(check)
      results[check.to_s]
    end

    private

    def results
      raise @unavailable if @unavailable

      @results ||= play
    rescue Services::Unavailable, Bundle::Unavailable => e
      @unavailable = e
      raise
    end

    def play
      services = @backends.for(@library.services)
      environment = @library.gem_name ? Bundle.environment : {}
      lines = Tempfile.create("nb-clients") do |output|
        Tempfile.create("nb-clients-errors") do |errors|
          ended = spawn(environment.merge("CLIENT_SERVICES" => JSON.generate(services)), output,
                        errors)
          @trouble = "#{ended}: #{File.read(errors.path)[-3000..] || File.read(errors.path)}"
          File.readlines(output.path).map { |line| JSON.parse(line) }
        end
      end
      @version = lines.shift&.fetch("version")
      lines.to_h { |line| [line.delete("check"), line] }
    end

    # @return [String] how it ended
    def spawn(environment, output, errors)
      command = [RbConfig.ruby, "-I#{File.join(Bundle::ROOT, "lib")}",
                 *("-rbundler/setup" if @library.gem_name), File.join(__dir__, "probe.rb"),
                 @library.name]
      pid = Bundler.with_unbundled_env do
        Process.spawn(environment, *command, in: File::NULL, out: errors, err: errors, 3 => output)
      end
      Timeout.timeout(LIMIT_S) { Process.wait2(pid).last.to_s }
    rescue Timeout::Error
      Process.kill("KILL", pid)
      Process.wait(pid)
      "killed after #{LIMIT_S} s"
    end
  end
end
