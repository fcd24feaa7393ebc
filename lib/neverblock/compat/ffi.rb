# frozen_string_literal: true

# FFI.errno is what the last call of the thread has left (ffi_c/LastError.c). All requests of an
# executor share its thread: after a wait or a time slice it was another request's. So was the call
# that a callback's exception is handed to. Here both are the request's own, over both
# (ext/neverblock/binding/fibers/ffi_state.c). Fiddle.last_error needs nothing: it is a fiber-local.

module NeverBlock
  module Compat
    module FFI
      LIBRARY = %r{/ffi_c\.(?:so|bundle)\z}.freeze

      # Installs it once, when ffi is loaded.
      # @return [void]
      def self.apply
        return if @applied || !defined?(::FFI::LastError.error)

        path = $LOADED_FEATURES.grep(LIBRARY).first or return
        @applied = Scheduler.watch_ffi(::FFI::LastError, path)
      end
    end
  end
end
