# frozen_string_literal: true

# What this process does after all at_exit blocks of the application: it is replaced by a new start
# of its command. A replaced process runs none of its blocks, so they come first.

module NeverBlock
  module Boot
    module LastExit
      FAILED = 1

      # To be called before the application is loaded: at_exit blocks run in reverse order. Once a
      # process.
      # @return [void]
      def self.prepare
        return if @process == ::Process.pid

        process = @process = ::Process.pid
        at_exit { act($!) if ::Process.pid == process }
      end

      # Ends the process: its at_exit blocks run, then this block. A signal that ends one of them
      # ends the process without it, since it asks for a stop.
      # @yield replaces the process
      # @return [void] never
      # @raise [SystemExit]
      def self.replace(&block)
        prepare
        @block = block
        exit
      end

      def self.act(error)
        @block&.call unless error.is_a?(SignalException)
      rescue SystemCallError => e
        warn("neverblock: the process cannot be started again: #{e.message}")
        exit(FAILED)
      end
      private_class_method :act
    end
  end
end
