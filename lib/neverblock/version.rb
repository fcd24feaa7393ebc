# frozen_string_literal: true

# The version of the gem. The file holds nothing else, so that the gemspec can load it alone.

module NeverBlock
  VERSION = "2.0.0.pre"
end
