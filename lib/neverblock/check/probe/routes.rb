# frozen_string_literal: true

# Paths that can be requested without knowledge of the application: GET routes of a Rails
# application without required parameters, else the root.

module NeverBlock
  module Check
    class Probe
      module Routes
        MOST = 32
        ROOT = ["/"].freeze

        module_function

        # @return [Array<String>]
        def paths
          return ROOT unless defined?(::Rails.application.routes) && ::Rails.application

          routes = ::Rails.application.routes.routes
          found = routes.filter_map { |route| path(route) }.uniq.first(MOST)
          found.empty? ? ROOT : found
        end

        def path(route)
          return unless plain?(route)

          path = route.path.spec.to_s.gsub(/\([^()]*\)/, "")
          path unless path.include?("*") || path.include?("(") || path.start_with?("/rails/")
        end

        def plain?(route)
          route.verb.to_s.include?("GET") && route.required_parts.empty? && !route.internal
        end
        private_class_method :path, :plain?
      end
    end
  end
end
