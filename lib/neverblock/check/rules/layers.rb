# frozen_string_literal: true

# The middleware around the application: what makes requests wait for each other, or ends the wrong one.

require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module Layers
        # Class name => level, rule, what it does, the mend.
        KNOWN = {
          "Rack::Lock" => [:serious, "rack-lock", "Rack::Lock lets one request run at a time in each process: all others wait for it, whatever it waits for",
                           "take it out; in Rails `config.allow_concurrency = false` puts it in"],
          "Rack::Timeout" => [:serious, "rack-timeout",
                              "Rack::Timeout ends a request by raising in its thread, which all requests of a process share: another request dies, or the server",
                              "take it out; `timeouts { request 20 }` in config/neverblock.rb ends a request at its next wait"],
          "Rack::Reloader" => [:warning, "rack-reloader", "Rack::Reloader looks at every loaded file while requests run, and loads what has changed under them",
                               "development only; -w 2 and `neverblock reload` load new code"]
        }.freeze

        module_function

        # @return [Array<Finding>]
        def call(subject)
          subject.layers.filter_map { |layer| KNOWN[layer.class.name] }.uniq.map { |level, rule, seen, mend| Finding.of(level, rule, seen, mend) }
        end
      end
    end
  end
end
