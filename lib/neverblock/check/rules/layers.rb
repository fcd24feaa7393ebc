# frozen_string_literal: true

# Middleware around the application that serializes requests, ends the wrong one, or does what the
# server does better.

require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module Layers
        # Class name => level, rule, what was found, fix.
        KNOWN = {
          "Rack::Lock" => [
            :serious, "rack-lock",
            "Rack::Lock lets one request run at a time in each process: all others wait for it",
            "remove it; in Rails `config.allow_concurrency = false` adds it"
          ],
          "Rack::Timeout" => [
            :serious, "rack-timeout",
            "Rack::Timeout ends a request by raising in its thread, which all requests of a " \
            "process share: another request fails, or the server",
            "remove it; `timeouts { request 20 }` in config/neverblock.rb ends a request at its " \
            "next wait"
          ],
          "Rack::Deflater" => [
            :note, "rack-deflater",
            "Rack::Deflater compresses on the thread that runs requests, which others wait for",
            "remove it; `compress true` in config/neverblock.rb has the I/O loop and threads do it"
          ],
          "Rack::Reloader" => [
            :warning, "rack-reloader",
            "Rack::Reloader checks every loaded file while requests run, and reloads changed " \
            "files under them",
            "use it in development only; -w 2 and `neverblock reload` load new code"
          ]
        }.freeze

        module_function

        # @return [Array<Finding>]
        def call(subject)
          known = subject.layers.filter_map { |layer| KNOWN[layer.class.name] }.uniq
          known.map { |level, rule, seen, mend| Finding.of(level, rule, seen, mend) }
        end
      end
    end
  end
end
