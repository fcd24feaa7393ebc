# frozen_string_literal: true

# Loaded by RUBYOPT into every Ruby of a run of bin/coverage. When a process ends it leaves what of
# the files under NB_COVERAGE_ROOT it has run, as a file in NB_COVERAGE_FOLDER. exit! and exec run
# no at_exit block: each is given a method before it.

require "coverage"

root, folder = ENV.values_at("NB_COVERAGE_ROOT", "NB_COVERAGE_FOLDER")
if root && folder && !Coverage.running?
  Coverage.start(lines: true, branches: true)
  # A process that has called exec counts anew, under the same process id.
  start = rand(1 << 64)
  write = lambda do
    result = Coverage.peek_result.select { |path, _| path.start_with?("#{root}/") }
    name = File.join(folder, "#{Process.pid}-#{start}.coverage")
    File.binwrite(name, Marshal.dump(result)) unless result.empty?
  rescue SystemCallError => e
    warn("coverage: #{e.message}")
  end
  # Ruby loads what the command line names before what RUBYOPT names. Minitest's own block, which
  # runs the tests, is then older than this one, and runs after it.
  at_exit do
    Minitest.after_run(&write) if defined?(Minitest)
    write.call
  end
  before = Module.new do
    %i[exit! exec].each do |name|
      define_method(name) do |*arguments, **options|
        write.call
        super(*arguments, **options)
      end
    end
  end
  [Process, Kernel].each { |owner| owner.singleton_class.prepend(before) }
  Object.prepend(before.dup.tap { |words| words.send(:private, :exit!, :exec) })
end
