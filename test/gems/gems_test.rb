# frozen_string_literal: true

# Tests the gems that Rails applications use most. Each has an ordinary use, 20 at once beside
# requests that compute. Every answer is the one that Puma gives on threads.
# When all have run, the results are in tmp/gems/<Ruby>.json. test/clients/publish makes a part of
# docs/COMPATIBILITY.md of them.

require "test_helper"
require "gems/support/asked"
require "gems/support/results"

class GemsTest < Minitest::Test
  CLIENTS = 20
  ROUNDS = 6
  SURROUNDINGS = Gems::Surroundings.new
  RESULTS = Gems::Results.new
  SERVICE = OnThreads::Service.new

  # One gem after another, by name.
  def self.test_order
    :alpha
  end

  Minitest.after_run do
    RESULTS.write(File.join(GemBundle::ROOT, "tmp/gems"))
  ensure
    SURROUNDINGS.stop
  end

  Gems::Surroundings::BUNDLE.env # the first time takes longer than a test may
  Gems.load.each_value do |use|
    define_method("test_#{use.name}_answers_as_on_threads") { hold(use) }
  end

  private

  def hold(use)
    comparison = OnThreads::Comparison.new(site: Gems::Asked.method(:site),
                                           bundle: SURROUNDINGS.for(use.services), clients: CLIENTS,
                                           service: SERVICE, rounds: ROUNDS)
    differences, unsteady = comparison.of([Gems::Asked.new(use)], [:hogs])
    refuse(use, unsteady.first) unless unsteady.empty?
    said = differences.map(&:to_s).join("\n")
    RESULTS.record(use, said.empty? ? "same" : "differs", said)
    assert_empty(said)
  rescue ServerProcess::Failed => e
    flunk("#{use.name}: #{e.message.lines.grep(/Unable to load|neverblock: /).first || e.message}")
  rescue Services::Unavailable => e
    RESULTS.record(use, "skipped", e.message)
    skip("#{use.name}: #{e.message}")
  end

  # The use itself is at fault, which says nothing about the gem. The results of other gems are
  # kept.
  def refuse(use, unsteady)
    said = "not used as threads may: #{unsteady}"
    RESULTS.record(use, "skipped", said)
    flunk("#{use.name} is #{said}")
  end
end
