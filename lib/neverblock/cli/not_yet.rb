# frozen_string_literal: true

# Commands of the interface that this version does not support yet. Each is refused with one line
# that names what to use instead. When a command is added, its row is removed here. (Settings tell
# the same in their row of config/catalog.rb.)

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

        instead = COMMANDS[word]
        raise NotYetError, "the command #{word} is not supported yet#{"; #{instead}" if instead}"
      end
    end
  end
end
