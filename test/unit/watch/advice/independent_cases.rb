# frozen_string_literal: true

require_relative "../../../support/advice_cases"

class AdviceCases
  # Waits that came one after another, and could have run together.
  INDEPENDENT = new
end

Dir[File.join(__dir__, "independent", "*.rb")].each { |file| require file }
