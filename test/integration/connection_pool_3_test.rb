# frozen_string_literal: true

# What is tested of connection_pool (unit/compat/connection_pool_test.rb), with its version 3.

require "minitest/autorun"
require "open3"
require "rbconfig"
require_relative "../support/gem_bundle"

class ConnectionPool3Test < Minitest::Test
  ROOT = GemBundle::ROOT
  GEMFILE = File.expand_path("connection_pool_3.gemfile", __dir__)
  VERSION = "require 'connection_pool'; puts \"version \#{ConnectionPool::VERSION}\""

  def test_the_same_holds_for_it
    skip "connection_pool 3 is for Ruby 3.2 and newer" if RUBY_VERSION < "3.2"

    env = GemBundle.new(GEMFILE, "bundle-connection-pool-3-#{RUBY_VERSION}").env
    test = File.join(ROOT, "test/unit/compat/connection_pool_test.rb")
    out, status = Open3.capture2e(env, RbConfig.ruby, "-rbundler/setup", "-I", "#{ROOT}/lib",
                                  "-e", VERSION, "-e", "load #{test.inspect}")
    assert_predicate status, :success?, out
    assert_match(/^version 3\./, out)
    assert_match(/^[1-9]\d* runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, out)
  end
end
