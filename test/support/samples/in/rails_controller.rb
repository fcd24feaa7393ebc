# frozen_string_literal: true

# The controllers of a Rails application, without the rest of it.

require "action_controller"
require "neverblock/rails/action_modes"

class ApplicationController < ActionController::Base
  include NeverBlock::ActionModes unless include?(NeverBlock::ActionModes)
end
# SAMPLE
