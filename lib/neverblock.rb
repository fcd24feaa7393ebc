# frozen_string_literal: true

# NeverBlock: an application server whose I/O loop is a native thread without Ruby's lock and whose
# requests run in fibers.
#
#   require "neverblock"
#   config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"])
#   server = NeverBlock::Server.new(config, app).start
#   server.urls    # => ["http://127.0.0.1:40123"]
#   server.stop
#
# In a Gemfile it is all that a Rails application needs: Rails and rackup are loaded when Bundler
# requires this file.

require "neverblock/library"
require "neverblock/rack/offer"
require "neverblock/rails/railtie" if defined?(Rails::Railtie)

NeverBlock::DB::ActiveRecord.register
