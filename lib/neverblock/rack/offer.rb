# frozen_string_literal: true

# Makes NeverBlock known to the rackup that is loaded, if one is: it is what `rackup` and `rails server` start when nobody names a server and the bundle has neither
# Puma nor Falcon. (rackup/handler/neverblock and rack/handler/neverblock are found by their names in any case; rack/default goes before every other.)

if defined?(Rackup::Handler)
  require "rackup/handler/neverblock"
elsif defined?(Rack::RELEASE) && Rack::RELEASE < "3" && defined?(Rack::Handler)
  require "rack/handler/neverblock"
end
