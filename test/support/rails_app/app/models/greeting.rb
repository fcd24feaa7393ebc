# frozen_string_literal: true

class Greeting
  TEXT = "first"
end
