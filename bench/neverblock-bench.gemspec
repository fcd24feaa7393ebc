# frozen_string_literal: true

require_relative "../lib/neverblock/version"

Gem::Specification.new do |spec|
  spec.name = "neverblock-bench"
  spec.version = NeverBlock::VERSION
  spec.authors = ["The NeverBlock developers"]
  spec.summary = "Measures NeverBlock beside other servers"
  spec.description = "The command `neverblock bench`: starts each server fresh, puts a load on " \
                     "it, and reports medians and spread. The claims and the pinned versions of " \
                     "the other servers are in NeverBlock's repository."
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"

  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.{rb,erb,css}", "sig/**/*.rbs", "README.md"] }
  spec.require_paths = ["lib"]
  spec.metadata["rubygems_mfa_required"] = "true"

  spec.add_runtime_dependency NeverBlock::GEM_NAME, NeverBlock::VERSION
end
