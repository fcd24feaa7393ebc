# frozen_string_literal: true

# A freshly generated Rails application with one line in its Gemfile, served by `bin/rails server`
# in development.

require_relative "../support/rails_case"

class RailsTest < RailsCase
end
