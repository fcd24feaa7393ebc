# frozen_string_literal: true

# Tests every other Rails that runs on this Ruby as test/integration tests the Gemfile's. That Rails
# generates the application.

require_relative "../integration/rails_commands_test"
require_relative "../integration/rails_lanes_test"
require_relative "../integration/rails_workers_test"
require_relative "../support/gem_bundle"

VERSIONS = { "71" => "2.7", "80" => "3.2", "81" => "3.2" }.select { |_, ruby|
  Gem::Version.new(RUBY_VERSION) >= Gem::Version.new(ruby)
}.keys.freeze

VERSIONS.each do |version|
  gemfile = File.join(ServerProcess::ROOT, "gemfiles/rails_#{version}.gemfile")
  # Not in a test: the first installation takes longer than a test may.
  bundle = GemBundle.new(gemfile, "bundle-rails#{version}").env
  application = nil
  generate = lambda do
    RailsApplication.new(
      gemfile: "#{File.read(gemfile)}gem \"neverblock\", path: #{ServerProcess::ROOT.inspect}\n",
      bundle: bundle.slice("BUNDLE_PATH"), generator: bundle
    )
  end

  { "Rails#{version}Test" => RailsCase, "Rails#{version}WorkersTest" => RailsWorkersTest,
    "Rails#{version}LanesTest" => RailsLanesTest,
    "Rails#{version}CommandsTest" => RailsCommandsTest }.each do |name, tests|
    Class.new(tests) do
      define_singleton_method(:application) { application ||= generate.call }
      define_singleton_method(:name) { name }
      define_singleton_method(:to_s) { name }
      Object.const_set(name, self)
    end
  end
end
