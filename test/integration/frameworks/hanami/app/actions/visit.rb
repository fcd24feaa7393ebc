# frozen_string_literal: true

module Visits
  module Actions
    class Visit < Hanami::Action
      before { |request, response| response[:me] = request.params[:me].to_i }

      def handle(request, response)
        response.headers["x-me"] = request.params[:me]
        state = AppState.visit(response[:me], request.params[:at_once].to_i)
        number = request.env["QUERY_STRING"][/me=(\d+)/, 1].to_i
        ids = [response[:me], request.params[:me].to_i, number]
        response.body = JSON.generate(state.merge(framework: ids))
      end
    end
  end
end
