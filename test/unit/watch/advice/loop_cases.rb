# frozen_string_literal: true

require_relative "../../../support/advice_cases"

class AdviceCases
  # A wait in each turn of a loop that needs no other turn's: could be asked for at once.
  REPEATED = new

  # A loop whose turns need each other, or that is not one.
  NOT_REPEATED = new
end

Dir[File.join(__dir__, "{repeated,not_repeated}", "*.rb")].each { |file| require file }
