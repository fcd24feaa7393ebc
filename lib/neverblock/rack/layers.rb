# frozen_string_literal: true

# The layers between an executor and the application, the outermost first.

require "neverblock/db/active_record/release"
require "neverblock/db/admission"
require "neverblock/rack/request_log"

module NeverBlock
  module Layers
    # @param app [#call] a Rack application
    # @param config [Config]
    # @param log [Log]
    # @return [#call]
    def self.around(app, config, log)
      DB::ActiveRecord::Release.around(RequestLog.around(DB::Admission.around(app), config, log))
    end
  end
end
