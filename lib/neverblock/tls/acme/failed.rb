# frozen_string_literal: true

require "neverblock/errors"

module NeverBlock
  module TLS
    class Acme
      # A certificate was not issued. The message is one line.
      class Failed < Error
        # @return [Time, nil] the ACME server wants to be asked again from then on
        attr_reader :not_before

        # @param message [String]
        # @param not_before [Time, nil]
        def initialize(message, not_before = nil)
          super(message)
          @not_before = not_before
        end
      end

      # The ACME server could not validate a host name.
      class NotValidated < Failed; end
    end
  end
end
