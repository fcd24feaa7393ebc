# frozen_string_literal: true

require "roda"
require_relative "../../support/app_state"

class RodaVisits < Roda
  plugin :json
  plugin :halt
  plugin :request_headers

  route do |r|
    @me = r.params["me"].to_i

    r.get "visit" do
      response["x-me"] = r.params["me"]
      state = AppState.visit(@me, r.params["at_once"].to_i)
      state.merge(framework: [@me, r.params["me"].to_i, request.params["me"].to_i])
    end

    r.get "halt" do
      AppState.write(@me)
      r.halt(410, "gone")
    end

    r.get "fail" do
      AppState.write(@me)
      raise "on purpose"
    end
  end
end
