# frozen_string_literal: true

require "hanami"
require "hanami/controller"
require "json"
require_relative "../../../../support/app_state"

module Visits
  class App < Hanami::App
    config.root = File.expand_path("..", __dir__)
    config.logger.stream = File::NULL
    config.actions.format :json
  end
end
