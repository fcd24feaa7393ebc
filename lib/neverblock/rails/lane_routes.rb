# frozen_string_literal: true

# Rules (LaneRules) for the actions that `allowblock` holds, from the application's routes and those of engines mounted in it, in their order: Rails takes the first that
# matches. A held action's route is told where its method and path decide; where Rails looks at more (a constraint in code, a host, a pattern for a part, and another
# route that could be meant) it stays in place, and `untold` names it.

require "neverblock/server/lane_rules"
require "neverblock/rails/route_paths"

module NeverBlock
  class LaneRoutes
    # What a route takes. held: nil where it leads to no action that is held, else what leads there, for people; exact: method and path decide.
    Entry = Struct.new(:methods, :patterns, :exact, :held, :place) do
      def takes_some_of?(other)
        methods_meet?(other.methods) && patterns.any? { |one| other.patterns.any? { |two| RoutePaths.meet?(one, two) } }
      end

      def methods_meet?(others)
        methods == ALL || others == ALL || methods.intersect?(others)
      end
    end

    ALL = ["ALL"].freeze
    # Forms send these as POST with a field that Rack::MethodOverride reads.
    OVERRIDDEN = %w[PATCH PUT DELETE].freeze

    @changed = false
    @warned = {}
    @held = {}

    class << self
      # A controller has said what it holds, or code was loaded again.
      # @return [void]
      def changed
        @changed = true
      end

      # Tells the rules of an application whose routes can be read, where something has changed.
      # @param app [Rails::Application]
      # @return [void]
      def refresh(app)
        return unless @changed

        @changed = false
        found = of(app)
        LaneRules.rules = found.rules
        found.untold.each { |route| warn_once(route) }
      end

      # @param app [Rails::Application]
      # @return [LaneRoutes]
      def of(app)
        controllers = held
        app.reload_routes_unless_loaded if controllers.any? && app.respond_to?(:reload_routes_unless_loaded)
        new(app.routes.routes, controllers, override: app.config.middleware.include?("Rack::MethodOverride"))
      end

      private

      # Where code was loaded again and a controller is not yet, what it said before counts until it is.
      def held
        @held = @held.merge(ActionModes.controllers).select { |_path, one| one.neverblock_actions.value?(true) }
      end

      def warn_once(route)
        return if @warned[route]

        @warned[route] = true
        ::Rails.logger&.warn("NeverBlock: allowblock: #{UNTOLD.call(route)}")
      end
    end

    UNTOLD = ->(route) { "method and path alone do not tell #{route} from other routes: it runs in place, and while it waits no other request of its process does" }

    # @return [Array<LaneRules::Rule>]
    attr_reader :rules
    # @return [Array<String>] routes that lead to held actions and cannot be told
    attr_reader :untold

    # @param routes [Enumerable<ActionDispatch::Journey::Route>]
    # @param controllers [Hash{String => Class}] by path, those that hold some action
    # @param override [Boolean] whether the application reads methods out of forms
    def initialize(routes, controllers, override: true)
      @controllers = controllers
      @entries = controllers.empty? ? [] : entries(routes, [""])
      @entries += overridden if override
      @entries.each_with_index { |entry, place| entry.place = place }
      @untold = []
      @rules = tell.freeze
      @untold = @untold.uniq.freeze
    end

    private

    # --- what routes take ---

    def entries(routes, prefixes)
      routes.flat_map { |route| route.internal ? [] : entries_of(route, prefixes) }
    end

    def entries_of(route, prefixes)
      paths = RoutePaths.new(route, prefixes)
      target = route.app.respond_to?(:app) ? route.app.app : route.app
      exact = paths.exact? && route.constraints.empty? && constraints_of(route.app).empty?
      return entries(target.routes.routes, paths.patterns) if !route.path.anchored && target.respond_to?(:routes) && target.routes.respond_to?(:routes) && exact
      return [Entry.new(methods_of(route), paths.patterns_below, exact, nil)] unless route.path.anchored

      controller = @controllers[route.defaults[:controller]] unless paths.part?("controller")
      return [Entry.new(methods_of(route), paths.patterns, exact, nil)] unless controller && (paths.part?("action") || route.defaults[:action])

      actions_of(controller, route, paths).map { |patterns, action, held| Entry.new(methods_of(route), patterns, exact, (what(route, controller, action) if held)) }
    end

    def constraints_of(app)
      app.respond_to?(:constraints) ? app.constraints : []
    end

    # Each with whether it is held: one, or where the path names it those that the controller speaks of and all others.
    def actions_of(controller, route, paths)
      return [[paths.patterns, route.defaults[:action], controller.neverblock_holds?(route.defaults[:action].to_s)]] unless paths.part?("action")

      spoken_of = controller.neverblock_actions.keys - [ActionModes::EVERY]
      named = spoken_of.map { |action| [paths.with("action", action.to_s), action, controller.neverblock_holds?(action.to_s)] }
      named << [paths.patterns, "*", controller.neverblock_actions.fetch(ActionModes::EVERY, false)]
    end

    def methods_of(route)
      verbs = route.verb.to_s.split("|")
      return ALL if verbs.empty? || verbs.include?("")

      (verbs + (verbs.include?("GET") ? ["HEAD"] : [])).uniq
    end

    def what(route, controller, action)
      "#{route.verb.to_s.empty? ? "any method" : route.verb} #{route.path.spec} (#{controller.controller_path}##{action})"
    end

    def overridden
      held = @entries.select { |entry| entry.held && entry.methods.intersect?(OVERRIDDEN) }
      forms = held.map { |entry| Entry.new(["POST"], entry.patterns, entry.exact, entry.held) }
      forms.reject { |form| @entries.any? { |other| !other.held && form.takes_some_of?(other) } }
    end

    # --- what can be told ---

    # Others are needed where they take, before it, what a held one would.
    def tell
      held, others = @entries.partition(&:held)
      told = held.select { |entry| told?(entry, others) }
      before = others.select { |other| told.any? { |entry| other.place < entry.place && entry.takes_some_of?(other) } }
      (told + before).sort_by(&:place).flat_map do |entry|
        entry.patterns.map { |pattern| LaneRules::Rule.new(entry.methods, pattern, !entry.held.nil?, entry.held) }
      end
    end

    # Where another could be meant, that which comes first must be one that method and path decide.
    def told?(entry, others)
      told = others.none? { |other| !(other.place < entry.place ? other : entry).exact && entry.takes_some_of?(other) }
      @untold << entry.held unless told
      told
    end
  end
end
