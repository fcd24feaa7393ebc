# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "sender_gem"
  spec.version = "0.1.0"
  spec.summary = "An algorithm that sends files, for NeverBlock"
  spec.authors = ["NeverBlock"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "ext/**/*.{c,rb}", "README.md"] }
  spec.extensions = ["ext/sender_gem/extconf.rb"]
  spec.metadata["rubygems_mfa_required"] = "true"
  spec.add_runtime_dependency "neverblock"
end
