# frozen_string_literal: true

# Commands that the interface names and this version does not do yet: each is recognised, says so in one line with what helps meanwhile, and refuses.
# A step that brings one takes its row out of here. (Settings say so in their row of config/catalog.rb.)

require "neverblock/errors"

module NeverBlock
  module CLI
    module NotYet
      COMMANDS = {
        "upgrade" => "start it again instead"
      }.freeze

      module_function

      # @param word [String, nil] the first word of the command line
      # @raise [NotYetError]
      def check_command(word)
        return unless COMMANDS.key?(word)

        meanwhile = COMMANDS[word]
        raise NotYetError, "the command #{word} does not work yet#{"; #{meanwhile}" if meanwhile}"
      end
    end
  end
end
