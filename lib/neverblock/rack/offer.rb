# frozen_string_literal: true

# Makes NeverBlock known to the rackup that is loaded, if one is. `rackup` and `rails server` then
# start it when nobody names a server and the bundle has neither Puma nor Falcon.
# rackup/handler/neverblock and rack/handler/neverblock are found by their names in any case.
# rack/default has precedence over every other server.

if defined?(Rackup::Handler)
  require "rackup/handler/neverblock"
elsif defined?(Rack::RELEASE) && Rack::RELEASE < "3" && defined?(Rack::Handler)
  require "rack/handler/neverblock"
end
