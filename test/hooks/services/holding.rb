# frozen_string_literal: true

require_relative "http"
require_relative "../support/stage"

module HookServices
  # For rows whose call ends when a service answers: B waits until the service has come to its gate,
  # and the event opens it.
  module Holding
    private

    # @param service [Service]
    # @return [Service]
    def holding(service)
      reached { service.reached? }
      event { service.open }
      service
    end

    # An HTTP service that is asked for /a and lets the answer wait.
    def http(hold: :head, **options)
      holding(Http.new(hold: hold, **options))
    end
  end
end

HookTable::Stage.include(HookServices::Holding)
