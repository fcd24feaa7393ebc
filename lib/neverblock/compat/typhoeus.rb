# frozen_string_literal: true

# Typhoeus gives a request's handle back to its pool inside the handle's own `on_complete`
# (easy_factory.rb, set_callback), before Ethon::Easy#perform or #complete has returned. A request
# that takes the handle in that moment ends with Ethon::Errors::EthonError, "Easy is currently
# performing". On threads that needs a thread switch at that very place; time slices and standby
# executors switch more often.
#
# Here the pool gives only handles that have ended, on any thread. Typhoeus 1.x, also with an Ethon
# that does not check (before 0.18). test/gems/typhoeus_test.rb shows it on threads and here.

module NeverBlock
  module Compat
    module Typhoeus
      # Installs it once, when Typhoeus is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Typhoeus::Pool) && defined?(::Typhoeus::VERSION)
        return unless ::Typhoeus::VERSION.to_i == 1

        pool = ::Typhoeus::Pool.singleton_class
        pool.prepend(Ended) unless pool.include?(Ended)
      end

      # Prepended to Typhoeus::Pool's own methods.
      module Ended
        # @return [Ethon::Easy]
        def get
          early = []
          easy = super
          while Typhoeus.busy?(easy)
            early << easy
            easy = super # makes one when the pool is empty
          end
          easy
        ensure
          early&.each { |one| @mutex.synchronize { easies << one } }
        end
      end

      # @param easy [Ethon::Easy]
      # @return [Boolean] whether its last request has not returned
      def self.busy?(easy)
        easy.instance_variable_get(:@performing) || easy.instance_variable_get(:@completing)
      end
    end
  end
end
