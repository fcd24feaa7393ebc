# frozen_string_literal: true

module Visits
  module Actions
    class Fail < Hanami::Action
      def handle(request, _response)
        AppState.write(request.params[:me].to_i)
        raise "on purpose"
      end
    end
  end
end
