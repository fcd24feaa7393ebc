# frozen_string_literal: true

# Which rules of lanes the routes of held actions make.
# test/integration/rails_test.rb has what Rails itself answers for the same requests.

require_relative "../../support/unit"
require "neverblock"
require "action_controller"
require "neverblock/rails/action_modes"

class LaneRoutesTest < Minitest::Test
  class Reports < ActionController::Base
    include NeverBlock::ActionModes

    allowblock :export, :update, :show
    def self.controller_path = "reports"
  end

  class Modes < ActionController::Base
    include NeverBlock::ActionModes

    allowblock
    neverblock :gentle
    def self.controller_path = "modes"
  end

  CONTROLLERS = { "reports" => Reports, "modes" => Modes }.freeze

  def test_a_path_with_parts_and_a_format_is_told_for_its_methods
    routes { get "reports/:id/export" => "reports#export" }
    assert_equal [
      [%w[GET HEAD], "/reports/:/export.:", true],
      [%w[GET HEAD], "/reports/:/export", true]
    ], rules
  end

  def test_actions_that_are_not_held_make_no_rules
    routes { resources :others }
    assert_empty rules
  end

  def test_routes_before_that_take_some_of_its_paths_stay_in_fibers
    routes do
      get "reports/new" => "others#new", format: false
      get "other" => "others#other", format: false
      post "reports/:id" => "others#other", format: false
      get "reports/:id" => "reports#show", format: false
      get "reports/last" => "others#last", format: false
    end
    assert_equal [["/reports/new", false], ["/reports/:", true]], rules.map { |rule| rule.drop(1) }
  end

  def test_where_the_path_names_the_action_those_that_are_held_are_told
    routes { get "reports/do/:action", controller: "reports", format: false }
    assert_equal [
      ["/reports/do/export", true], ["/reports/do/update", true], ["/reports/do/show", true]
    ], rules.map { |rule| rule.drop(1) }
    routes { get "modes/:action", controller: "modes", format: false }
    assert_equal [["/modes/gentle", false], ["/modes/:", true]], rules.map { |rule| rule.drop(1) }
  end

  def test_globs_scopes_optional_parts_and_several_routes_to_one_action
    routes do
      get "files/*path" => "reports#export", format: false
      scope("(:locale)", locale: /en|de/) { get "all" => "reports#export", format: false }
      scope("/admin") { get "all" => "reports#export", format: false }
    end
    assert_equal %w[/files/* /en/all /de/all /all /admin/all], rules.map { |rule| rule[1] }
    assert_empty mapping.untold
  end

  def test_what_is_mounted_counts_below_its_path_and_an_engine_by_its_own_routes
    inside = ActionDispatch::Routing::RouteSet.new
    inside.draw { get "all/:id" => "reports#export", format: false }
    engine = Class.new { define_singleton_method(:routes) { inside } }
    def engine.call(_env) = [404, {}, []]
    routes do
      mount ->(_env) { [200, {}, []] }, at: "/engine/all"
      # As mount does, which asks railties for its name.
      match "/engine", to: engine, anchor: false, format: false, via: :all
      get "engine/:a/:b" => "reports#show", format: false
    end
    assert_equal [["/engine/all/*", false], ["/engine/all/:", true], ["/engine/:/:", true]],
                 rules.map { |rule| rule.drop(1) }.last(3)
  end

  def test_what_method_and_path_do_not_tell_stays_in_place_and_is_named
    routes do
      get "held/:id" => "reports#export",
          constraints: ->(request) { request.port == 1 }, format: false
      get "held/:name" => "others#show", format: false
    end
    assert_empty rules
    assert_equal ["GET /held/:id (reports#export)"], mapping.untold
  end

  def test_a_constraint_that_decides_between_this_and_nothing_is_told
    routes { get "held/:id" => "reports#export", constraints: { id: /\d+/ }, format: false }
    assert_equal [[%w[GET HEAD], "/held/:", true]], rules
  end

  def test_one_before_that_may_take_its_requests_by_more_than_path_keeps_it_in_place
    routes do
      get "held/:name" => "others#show", constraints: { subdomain: "www" }, format: false
      get "held/:id" => "reports#export", format: false
    end
    assert_empty rules
  end

  def test_forms_send_other_methods_as_post
    routes { patch "reports/:id" => "reports#update", format: false }
    assert_equal [%w[PATCH], %w[POST]], rules.map(&:first)
    routes do
      patch "reports/:id" => "reports#update", format: false
      post "reports/:id" => "others#create", format: false
    end
    assert_equal [%w[PATCH]], rules.map(&:first)
    routes { patch "reports/:id" => "reports#update", format: false }
    assert_equal [%w[PATCH]], rules(override: false).map(&:first)
  end

  def test_a_route_for_every_method_and_a_path_beyond_ascii
    routes { match "süß" => "reports#export", via: :all, format: false }
    assert_equal [[%w[ALL], "/s%C3%BC%C3%9F", true]], rules
  end

  private

  def routes(&block)
    @routes = ActionDispatch::Routing::RouteSet.new
    ActionDispatch.deprecator.silence { @routes.draw(&block) }
  end

  def mapping(**words)
    NeverBlock::LaneRoutes.new(@routes.routes, CONTROLLERS, **words)
  end

  def rules(**words)
    mapping(**words).rules.map do |rule|
      [rule.methods, rule.pattern.tr("\x01\x02", ":*"), rule.held]
    end
  end
end
