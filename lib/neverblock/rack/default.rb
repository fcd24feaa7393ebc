# frozen_string_literal: true

# Makes NeverBlock the server that rackup and `rails server` start when none is named, also beside
# Puma. Require it in the environment file, or in the Gemfile as `gem "neverblock", require:
# "neverblock/rack/default"`. With Rack 3 it needs the gem rackup, with Rack 2 nothing.

begin
  require "rackup/handler/neverblock"
rescue LoadError => e
  raise unless e.path == "rackup/handler"

  require "rack/handler/neverblock"
end

NeverBlock::RackHandler.first_choice = true
