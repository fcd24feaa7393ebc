# frozen_string_literal: true

# Loaded by RUBYOPT into every Ruby of a run of bin/coverage. When a process ends it leaves what of
# the files under NB_COVERAGE_ROOT it has run, as a file in NB_COVERAGE_FOLDER.

require "coverage"

unless Coverage.running?
  Coverage.start(lines: true, branches: true)
  write = lambda do
    root = ENV.fetch("NB_COVERAGE_ROOT")
    result = Coverage.peek_result.select { |path, _| path.start_with?("#{root}/") }
    name = File.join(ENV.fetch("NB_COVERAGE_FOLDER"), "#{Process.pid}.coverage")
    File.binwrite(name, Marshal.dump(result)) unless result.empty?
  end
  # Ruby loads what the command line names before what RUBYOPT names. Minitest's own block, which
  # runs the tests, is then older than this one, and runs after it.
  at_exit do
    Minitest.after_run(&write) if defined?(Minitest)
    write.call
  end
end
