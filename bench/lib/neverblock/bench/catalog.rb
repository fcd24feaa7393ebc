# frozen_string_literal: true

module NeverBlock
  module Bench
    # Finds the claims under benchmark/ by name.
    class Catalog
      # All names of benchmarks, with planned ones.
      NAMES = %w[
        hello delays handoff clients switch memory workers rails activerecord asyncqueries
        sequel mixed mysql downloads sendfile tls undisturbed stalls railstalls
      ].freeze

      # @param directory [String]
      def initialize(directory: File.join(ROOT, "benchmark"))
        @directory = directory
      end

      # @return [Array<String>] the names of existing benchmarks
      def names
        NAMES.select { |name| File.exist?(file(name)) }
      end

      # @param name [String]
      # @return [Claim]
      # @raise [Error] when there is no such benchmark
      def find(name)
        known = "known are #{names.join(", ")}, all"
        if names.empty?
          raise Error, "there are no benchmarks in this installation; " \
                       "run the command from a checkout"
        end
        raise Error, "no benchmark is called #{name.inspect}; #{known}" unless NAMES.include?(name)
        raise Error, "benchmark #{name} does not exist yet; #{known}" unless names.include?(name)

        require file(name)
        Claims.const_get(name.capitalize).new
      end

      private

      def file(name)
        File.join(@directory, "#{name}.rb")
      end
    end
  end
end
