# frozen_string_literal: true

# The name and version of the gem. The file holds nothing else, so that the gemspec can load it
# alone.

module NeverBlock
  # The one place that names the gem; `require "neverblock"` is the same whatever it is
  # (docs/decisions/0019-the-name-of-the-gem.md).
  GEM_NAME = "neverblock"
  VERSION = "2.0.0.pre"
end
