# frozen_string_literal: true

module Visits
  module Actions
    class Leave < Hanami::Action
      def handle(request, _response)
        AppState.write(request.params[:me].to_i)
        halt 410, "gone"
      end
    end
  end
end
