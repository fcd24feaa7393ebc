# frozen_string_literal: true

require "neverblock/errors"

module NeverBlock
  module TLS
    # A certificate or key cannot be used. The message is one line.
    class Unusable < Error; end
  end
end
