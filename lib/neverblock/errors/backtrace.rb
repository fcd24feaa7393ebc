# frozen_string_literal: true

# Backtraces that begin where the caller wrote something. The library's own frames are left out of
# its errors. NB_DEBUG=1 keeps them.

module NeverBlock
  module Backtrace
    # The paths of backtraces are those by which files were loaded, so this one is not resolved.
    LIBRARY = __FILE__.delete_suffix("errors/backtrace.rb").freeze
    private_constant :LIBRARY

    module_function

    # @param env [Hash, ENV]
    # @return [Boolean] whether NB_DEBUG asks for all frames
    def whole?(env = ENV)
      value = env["NB_DEBUG"]
      !(value.nil? || value.empty? || value == "0")
    end

    # The third argument of `raise`: the stack from the first caller outside of the library on.
    # @return [Array<String>]
    def of_caller
      places = caller
      return places if whole?

      outside = places.drop_while { |place| ours?(place) }
      outside.empty? ? places : outside
    end

    # Leaves out the library's frames: at the end those under a fiber's block. All of them in errors
    # that the library raises, and in signals. In another error the first frames may be the fault.
    # @param error [Exception]
    # @return [Exception] the same
    def trim(error)
      places = trimmed(error)
      error.set_backtrace(places) unless places.empty? || error.frozen? || whole?
      error
    rescue StandardError # its class has a #backtrace or #set_backtrace of its own
      error
    end

    # An error that was raised in a fiber or thread that worked for this one: the caller's stack
    # follows its own.
    # @param error [Exception]
    # @return [void]
    def join(error)
      places = whole? ? error.backtrace || [] : trimmed(error)
      error.set_backtrace(places + of_caller) unless error.frozen?
    end

    def trimmed(error)
      places = error.backtrace || []
      places = places.reject { |place| ours?(place) } if raised_by_us?(error)
      places.reverse.drop_while { |place| ours?(place) }.reverse
    end
    private_class_method :trimmed

    def raised_by_us?(error)
      case error
      when Error, FromOutside, SignalException then true
      else false
      end
    end
    private_class_method :raised_by_us?

    def ours?(place)
      place.start_with?(LIBRARY)
    end
    private_class_method :ours?
  end
end
