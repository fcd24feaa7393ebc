# frozen_string_literal: true

require_relative "config/environment"
require ENV.fetch("NB_HUNT_APP")
run StallsHunt::App.new(Rails.application)
