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
        # @param line [String] of config/neverblock.rb
        # @param plain [Object, nil] nil: it has code, and is not read
        # @return [Translation] carried over, or missing where the value is not allowed here
        def translation(line, plain: true)
          fault = plain && fault_of(line)
          return Translation.carried(line) unless fault

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
