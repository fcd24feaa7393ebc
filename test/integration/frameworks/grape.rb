# frozen_string_literal: true

require "grape"
require_relative "../../support/app_state"

class GrapeVisits < Grape::API
  format :json
  after_validation { @me = params[:me] }

  params do
    requires :me, type: Integer
    optional :at_once, type: Integer
  end
  get "visit" do
    header "x-me", params[:me].to_s
    state = AppState.visit(@me, params[:at_once])
    state.merge(framework: [@me, params[:me], declared(params)["me"]])
  end

  params { requires :me, type: Integer }
  get "halt" do
    AppState.write(@me)
    error!("gone", 410)
  end

  params { requires :me, type: Integer }
  get "fail" do
    AppState.write(@me)
    raise "on purpose"
  end
end
