# frozen_string_literal: true

# Settings as text, so that the front can see where a new mold reads other ones. What the front holds (addresses, timeouts, limits, routes, the number of workers)
# stays as it was until the server is started again; all else is the new workers' own.

require "neverblock/config/catalog"

module NeverBlock
  module Cluster
    module Settings
      WORKERS_OWN = %i[config environment fibers preload_app before_fork after_fork on_download scheduler cooperative yjit log_format log_requests port host].freeze

      module_function

      # @param settings [Config::Settings]
      # @return [Hash{String => String}] what the front holds
      def of(settings)
        rows = Config::Catalog::OPTIONS.reject { |row| WORKERS_OWN.include?(row.key) || row.section == Config::Catalog::EXECUTOR || row.key == :bind }
        rows.to_h { |row| [row.to_s, text(settings[row.key])] }.merge("bind" => text(settings.binds))
      end

      # @param ours [Hash{String => String}]
      # @param theirs [Hash{String, Symbol => String}]
      # @return [Array<String>] names
      def differing(ours, theirs)
        theirs = theirs.transform_keys(&:to_s)
        ours.keys.reject { |name| ours[name] == theirs[name] }
      end

      def text(value)
        case value
        when Array then value.map { |part| text(part) }.join(" ")
        when Config::Route then [value.pattern, value.input, value.cancel_on_disconnect, value.algorithm, value.rate, value.lane, value.at_once, value.queue].inspect
        else value.to_s
        end
      end
      private_class_method :text
    end
  end
end
