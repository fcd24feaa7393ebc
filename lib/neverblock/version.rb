# frozen_string_literal: true

# The version of the gem, alone in its file so that the gemspec can read it without loading anything else.

module NeverBlock
  VERSION = "2.0.0.pre"
end
