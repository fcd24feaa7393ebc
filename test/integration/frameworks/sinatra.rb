# frozen_string_literal: true

require "sinatra/base"
require_relative "../../support/app_state"

class SinatraVisits < Sinatra::Base
  set :environment, :production
  set :show_exceptions, false

  before { @me = params["me"].to_i }

  get "/visit" do
    headers "x-me" => params["me"]
    content_type :json
    state = AppState.visit(@me, params["at_once"].to_i)
    JSON.generate(state.merge(framework: [@me, params["me"].to_i, request.params["me"].to_i]))
  end

  get "/halt" do
    AppState.write(@me)
    halt 410, "gone"
  end

  get "/fail" do
    AppState.write(@me)
    raise "on purpose"
  end
end
