# frozen_string_literal: true

# The front's settings as text, so that it can compare them with those a new mold has read. Settings
# of the front (addresses, timeouts, limits, routes, number of workers) do not change until the
# server is started again. All others belong to the workers. stall_ms is both: the front learns
# lanes by it.

require "neverblock/config/catalog"

module NeverBlock
  module Cluster
    module Settings
      WORKERS_OWN = %i[
        config environment fibers preload_app before_fork after_fork on_download scheduler
        cooperative yjit log_format log_requests server_timing port host
        executor.offload_threads executor.slice_ms executor.stall_trace executor.spares
      ].freeze

      module_function

      # @param settings [Config::Settings]
      # @return [Hash{String => String}] the front's settings
      def of(settings)
        rows = Config::Catalog::OPTIONS.reject { |row| workers_own?(row) || row.key == :bind }
        found = rows.to_h { |row| [row.to_s, text(settings[row.key])] }
        found.merge("bind" => text(settings.binds))
      end

      # @param ours [Hash{String => String}]
      # @param theirs [Hash{String, Symbol => String}]
      # @return [Array<String>] names of settings that differ
      def differing(ours, theirs)
        theirs = theirs.transform_keys(&:to_s)
        ours.keys.reject { |name| ours[name] == theirs[name] }
      end

      def workers_own?(row)
        WORKERS_OWN.include?(row.key)
      end

      def text(value)
        case value
        when Array then value.map { |part| text(part) }.join(" ")
        when Config::Route then route_text(value)
        when Config::Bind then value.identity.inspect
        when Config::Acme then acme_text(value)
        else value.to_s
        end
      end

      def route_text(route)
        values = Config::Route::WORDS.map { |word| route.public_send(word.name) }
        [route.pattern, *values, route.in_fibers].inspect
      end

      def acme_text(acme)
        [acme.names, *Config::Acme::WORDS.keys.map { |word| acme.public_send(word) }].inspect
      end
      private_class_method :workers_own?, :text, :route_text, :acme_text
    end
  end
end
