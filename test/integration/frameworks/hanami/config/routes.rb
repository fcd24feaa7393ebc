# frozen_string_literal: true

module Visits
  class Routes < Hanami::Routes
    get "/visit", to: "visit"
    get "/halt", to: "leave"
    get "/fail", to: "fail"
  end
end
