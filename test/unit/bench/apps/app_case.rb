# frozen_string_literal: true

require_relative "../bench_case"

# Runs a measured program for real, in the bundle of these tests.
class AppCase < BenchCase
  LIMIT_SECONDS = 60

  # @return [Hash{String => Object}] what it found
  def measure(file, job)
    command = [RbConfig.ruby, "-I", File.join(ROOT, "lib"),
               File.join(ROOT, "benchmark/apps/#{file}"), JSON.generate(job)]
    Program.parse(Child.capture(command, limit_seconds: LIMIT_SECONDS), LIMIT_SECONDS)
  end
end
