# frozen_string_literal: true

# What a unit test of the Ruby half needs: lib/ in front of any installed gem, and minitest.

lib = File.expand_path("../../lib", __dir__)
$LOAD_PATH.unshift(lib) unless $LOAD_PATH.include?(lib)

require "minitest/autorun"
require "timeout"
