# frozen_string_literal: true

# Tests every check of every client library: it yields, or it blocks for the reason that is given.
# When all have run, the results are in tmp/clients/<Ruby>.json. test/clients/publish writes
# docs/COMPATIBILITY.md from them.

require "test_helper"
require "clients/support/backends"
require "clients/support/library"
require "clients/support/results"
require "clients/support/run"

class ClientLibrariesTest < Minitest::Test
  BACKENDS = Clients::Backends.new
  RUNS = Hash.new { |runs, library| runs[library] = Clients::Run.new(library, BACKENDS) }
  RESULTS = Clients::Results.new

  # One library after another; the checks of one are a single run.
  def self.test_order
    :alpha
  end

  Minitest.after_run do
    RESULTS.write(File.join(Clients::Bundle::ROOT, "tmp/clients"))
  ensure
    BACKENDS.stop
  end

  Clients::Bundle.prepare
  Clients.load.each_value do |library|
    library.checks.each_value do |check|
      define_method("test_#{library.name}: #{check.name}: #{check.sentence}") do
        hold(library, check)
      end
    end
  end

  private

  def hold(library, check)
    run = RUNS[library]
    result = run.result(check.name) ||
             { "verdict" => "failed", "detail" => "its process had ended (#{run.trouble})" }
    RESULTS.record(library, run.version, check, result)
    wanted = library.expected.key?(check.name) ? "blocks" : "yields"
    assert_equal(wanted, result["verdict"], "#{library.name} #{run.version}: #{result["detail"]}")
  rescue Services::Unavailable, Clients::Bundle::Unavailable => e
    RESULTS.record(library, nil, check, { "verdict" => "skipped", "detail" => e.message })
    skip("#{library.name}: #{e.message}")
  end
end
