# frozen_string_literal: true

# Rails 8 leaves it to the first generated channel.
module ApplicationCable
  class Channel < ActionCable::Channel::Base
  end
end
