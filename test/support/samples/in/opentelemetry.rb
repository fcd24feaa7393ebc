# frozen_string_literal: true

# A stand-in for OpenTelemetry's SDK, whose gems test/gems/traces_test.rb runs.

SET = []
CONFIG = Struct.new(:service_name) do
  def use_all = SET << :all
end

module OpenTelemetry
  module SDK
    def self.configure = yield(SET.unshift(CONFIG.new).first)
  end
end

# SAMPLE
abort("it is not set up: #{SET}") unless SET.first.service_name == "shop" && SET.last == :all
