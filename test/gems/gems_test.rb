# frozen_string_literal: true

# The gems that Rails applications use most, each with an ordinary use, 20 at once beside requests that compute: every answer is the one that Puma gives on threads.
# What came out is written to tmp/gems/<Ruby>.json when all have run; test/clients/publish makes a part of docs/COMPATIBILITY.md of it.

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
    comparison = OnThreads::Comparison.new(site: Gems::Asked.method(:site), bundle: SURROUNDINGS.for(use.services), clients: CLIENTS, service: SERVICE, rounds: ROUNDS)
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

  # The fault of its use, which says nothing of the gem; what others have given is kept all the same.
  def refuse(use, unsteady)
    said = "not used as threads may: #{unsteady}"
    RESULTS.record(use, "skipped", said)
    flunk("#{use.name} is #{said}")
  end
end
