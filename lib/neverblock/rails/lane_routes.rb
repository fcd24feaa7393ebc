# frozen_string_literal: true

# Rules (LaneRules) for the actions that `allowblock` names. They are made of the routes of the
# application and of engines mounted in it, in their order: Rails takes the first that matches.
#
# The route of such an action gets a rule where its method and path identify it. Rails may look at
# more (a constraint in code, a host, a pattern for a part) where another route could match too.
# Then there is no rule, the action runs in place, and `untold` names the route.

require "neverblock/server/lane_rules"
require "neverblock/rails/route_paths"

module NeverBlock
  class LaneRoutes
    # What one route matches.
    # - methods, patterns: of the requests;
    # - exact: whether these alone decide;
    # - held: a description of the route if it leads to an action that allowblock names, else nil;
    # - place: its position among the routes.
    Entry = Struct.new(:methods, :patterns, :exact, :held, :place) do
      def takes_some_of?(other)
        return false unless methods_meet?(other.methods)

        patterns.any? { |one| other.patterns.any? { |two| RoutePaths.meet?(one, two) } }
      end

      def methods_meet?(others)
        methods == ALL || others == ALL || methods.intersect?(others)
      end
    end

    ALL = ["ALL"].freeze
    # Forms send these as POST, with a field that Rack::MethodOverride reads.
    OVERRIDDEN = %w[PATCH PUT DELETE].freeze

    @changed = false
    @warned = {}
    @held = {}

    class << self
      # Notes that a controller has named actions, or that code was loaded again.
      # @return [void]
      def changed
        @changed = true
      end

      # Makes the rules anew after a change, and gives them to LaneRules. Before the routes are
      # loaded it does nothing, and the change counts later.
      # @param app [Rails::Application] whose routes can be read
      # @return [void]
      def refresh(app)
        return unless @changed

        load_routes(app) if held.any?
        return if app.routes.routes.empty?

        @changed = false
        found = of(app)
        LaneRules.rules = found.rules
        found.untold.each { |route| warn_once(route) }
      end

      # @param app [Rails::Application]
      # @return [LaneRoutes]
      def of(app)
        controllers = held
        load_routes(app) if controllers.any?
        override = app.config.middleware.include?("Rack::MethodOverride")
        new(app.routes.routes, controllers, override: override)
      end

      private

      # Rails 8 loads them when they are first needed.
      def load_routes(app)
        app.reload_routes_unless_loaded if app.respond_to?(:reload_routes_unless_loaded)
      end

      # Controllers with held actions, by path. While a controller is not loaded again, its earlier
      # class counts.
      def held
        known = @held.merge(ActionModes.controllers)
        @held = known.select { |_path, one| one.neverblock_actions.value?(true) }
      end

      def warn_once(route)
        return if @warned[route]

        @warned[route] = true
        ::Rails.logger&.warn("NeverBlock: allowblock: #{UNTOLD.call(route)}")
      end
    end

    UNTOLD = lambda do |route|
      "method and path alone do not tell #{route} from other routes: it runs in place; " \
        "while it waits, its thread runs no other request, and spare threads may run it again"
    end

    # @return [Array<LaneRules::Rule>] in the order of the routes
    attr_reader :rules
    # @return [Array<String>] routes that lead to held actions and have no rule
    attr_reader :untold

    # @param routes [Enumerable<ActionDispatch::Journey::Route>]
    # @param controllers [Hash{String => Class}] with held actions, by path
    # @param override [Boolean] whether the application reads methods from forms
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

    # --- What routes match ---

    def entries(routes, prefixes)
      routes.flat_map { |route| route.internal ? [] : entries_of(route, prefixes) }
    end

    def entries_of(route, prefixes)
      paths = RoutePaths.new(route, prefixes)
      target = route.app.respond_to?(:app) ? route.app.app : route.app
      exact = paths.exact? && route.constraints.empty? && constraints_of(route.app).empty?
      return entries(target.routes.routes, paths.patterns) if exact && engine?(route, target)
      unless route.path.anchored
        return [Entry.new(methods_of(route), paths.patterns_below, exact, nil)]
      end

      controller = @controllers[route.defaults[:controller]] unless paths.part?("controller")
      unless controller && (paths.part?("action") || route.defaults[:action])
        return [Entry.new(methods_of(route), paths.patterns, exact, nil)]
      end

      actions_of(controller, route, paths).map do |patterns, action, held|
        Entry.new(methods_of(route), patterns, exact, (what(route, controller, action) if held))
      end
    end

    def engine?(route, target)
      !route.path.anchored && target.respond_to?(:routes) && target.routes.respond_to?(:routes)
    end

    def constraints_of(app)
      app.respond_to?(:constraints) ? app.constraints : []
    end

    # @return [Array] of patterns, action, and whether the action is held. There is one, or, where
    #   the path names the action, one for each action of neverblock_actions and one for all others.
    def actions_of(controller, route, paths)
      unless paths.part?("action")
        action = route.defaults[:action]
        return [[paths.patterns, action, controller.neverblock_holds?(action.to_s)]]
      end

      spoken_of = controller.neverblock_actions.keys - [ActionModes::EVERY]
      named = spoken_of.map do |action|
        [paths.with("action", action.to_s), action, controller.neverblock_holds?(action.to_s)]
      end
      every = controller.neverblock_actions.fetch(ActionModes::EVERY, false)
      named << [paths.patterns, "*", every]
    end

    def methods_of(route)
      verbs = route.verb.to_s.split("|")
      return ALL if verbs.empty? || verbs.include?("")

      (verbs + (verbs.include?("GET") ? ["HEAD"] : [])).uniq
    end

    # @return [String] a description of the route, for the log
    def what(route, controller, action)
      verb = route.verb.to_s.empty? ? "any method" : route.verb
      "#{verb} #{route.path.spec} (#{controller.controller_path}##{action})"
    end

    def overridden
      held = @entries.select { |entry| entry.held && entry.methods.intersect?(OVERRIDDEN) }
      forms = held.map { |entry| Entry.new(["POST"], entry.patterns, entry.exact, entry.held) }
      forms.reject { |form| @entries.any? { |other| !other.held && form.takes_some_of?(other) } }
    end

    # --- Which routes get a rule ---

    # A route that is not held gets a rule too where it matches requests before a held one.
    def tell
      held, others = @entries.partition(&:held)
      told = held.select { |entry| told?(entry, others) }
      before = others.select do |other|
        told.any? { |entry| other.place < entry.place && entry.takes_some_of?(other) }
      end
      (told + before).sort_by(&:place).flat_map do |entry|
        entry.patterns.map do |pattern|
          LaneRules::Rule.new(entry.methods, pattern, !entry.held.nil?, entry.held)
        end
      end
    end

    # Where another route could match too, method and path alone must decide the first of the two.
    def told?(entry, others)
      told = others.none? do |other|
        first = other.place < entry.place ? other : entry
        !first.exact && entry.takes_some_of?(other)
      end
      @untold << entry.held unless told
      told
    end
  end
end
