# frozen_string_literal: true

# Which line of a backtrace an entry of the log names, as entries of stalls do
# (core/stall/stall_places.c): the application's.

module NeverBlock
  class Executor
    module Blame
      # Where RubyGems and Bundler keep gems.
      GEM = %r{/gems/[^/]+-\d[^/]*/}.freeze
      # Code that lies in no file.
      INTERNAL = /\A(?:<internal:|\(eval)/.freeze

      module_function

      # @param lines [Array<String>] the innermost first; not empty
      # @return [String] the innermost of the application; else of a gem; else of all
      def line(lines)
        require "neverblock/server/stalls" # not where NeverBlock is a library alone

        places = Stalls.places
        owned = lines.map { |entry| [owner(entry, places), entry] }
        %i[application gem].each do |wanted|
          found = owned.assoc(wanted) and return found.last
        end
        lines.first
      end

      # @return [Symbol] :application, :gem or :ours (Ruby's library, and this gem)
      def owner(entry, places)
        return :ours if entry.match?(INTERNAL)

        owner, folder = places.select { |_, folder,| entry.start_with?("#{folder}/") }
                              .max_by { |_, folder,| folder.size }
        return owner if owner && owner != :application

        entry.delete_prefix(folder.to_s).match?(GEM) ? :gem : :application
      end
      private_class_method :owner
    end
  end
end
