# frozen_string_literal: true

require "neverblock/config/user_file"
require "neverblock/init/translation"

module NeverBlock
  module Init
    # Lines of plain values, read as a server would read them, so that init writes none that a
    # server refuses.
    module Checked
      # A configuration file that lies nowhere.
      class Line < Config::UserFile
        def initialize(text)
          super(DEFAULT)
          @text = text
        end

        private

        def source = @text
      end

      class << self
        # @param lines [Array<String>] of config/neverblock.rb
        # @param note [String, nil]
        # @return [Translation] carried over, or missing where a value is not allowed here
        def translation(*lines, note: nil)
          fault = fault_of(lines.join("\n"))
          return Translation.carried(*lines, note: note) unless fault

          Translation.missing("not allowed here: #{fault}")
        end

        private

        def fault_of(line)
          Line.new(line).values
          nil
        rescue ConfigError => e
          e.message.sub(/\A\S+:\d+: /, "")
        end
      end
    end
  end
end
