# frozen_string_literal: true

# What every Ruby test is run with: the gems of the bundle, lib on the load path, one seed for a
# run, and a guard that ends a test process that hangs with the stack of each thread instead of
# waiting for ever. bin/test requires this file first; `ruby -Itest test/unit/x_test.rb` after
# `require "test_helper"` works too.

root = File.expand_path("..", __dir__)
ENV["BUNDLE_GEMFILE"] ||= File.join(root, "Gemfile")
require "bundler/setup"
# Newer RubyGems would set this bundle up even in children that are given another. RUBYOPT says it
# too.
ENV.delete("BUNDLER_SETUP")

$LOAD_PATH.unshift(File.join(root, "lib")) unless $LOAD_PATH.include?(File.join(root, "lib"))
$LOAD_PATH.unshift(__dir__) unless $LOAD_PATH.include?(__dir__)
$stdout.sync = true

require "minitest"
require_relative "support/suite_reporter"
require_relative "support/hang_guard"
require_relative "support/activated_gems"

Minitest.extensions << "suite_reporter"
ActivatedGems.install
HangGuard.install(seconds: Integer(ENV.fetch("NB_TEST_SECONDS", "300"), 10))
require "minitest/autorun"
