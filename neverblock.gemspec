# frozen_string_literal: true

require_relative "lib/neverblock/version"

Gem::Specification.new do |spec|
  spec.name = NeverBlock::GEM_NAME
  spec.version = NeverBlock::VERSION
  spec.authors = ["The NeverBlock developers"]
  spec.summary = "An application server in which nothing waits on I/O"
  spec.description = "Serves unchanged Rack applications with a fiber for each request: " \
                     "connections, HTTP and files are handled in C outside Ruby's lock, and " \
                     "every wait of the application lets other requests run."
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"

  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "ext/**/*.{c,h,rb}", "ext/neverblock/depend", "sig/**/*.rbs", "exe/*",
        "lib/neverblock/watch/live.html", "docs/**/*.md", "examples/deploy/*",
        "examples/deploy/.dockerignore", "README.md", "CHANGELOG.md", "LICENSE"]
  end
  # Bundler requires a file of the gem's name (docs/decisions/0019-the-name-of-the-gem.md).
  entry = "lib/#{spec.name}.rb"
  raise "#{entry} is missing: it has to require \"neverblock\"" unless spec.files.include?(entry)

  spec.bindir = "exe"
  spec.executables = ["neverblock"]
  spec.require_paths = ["lib"]
  spec.extensions = ["ext/neverblock/extconf.rb"]
  spec.metadata["rubygems_mfa_required"] = "true"

  spec.add_runtime_dependency "rack", ">= 2.2.4", "< 4"
end
