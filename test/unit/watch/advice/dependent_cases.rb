# frozen_string_literal: true

require_relative "../../../support/advice_cases"

class AdviceCases
  # Waits of which one needs what the other found, did or allowed: nothing is advised.
  DEPENDENT = new
end

Dir[File.join(__dir__, "dependent", "*.rb")].each { |file| require file }
