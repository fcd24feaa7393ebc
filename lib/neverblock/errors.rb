# frozen_string_literal: true

# The errors NeverBlock raises. A message says what was seen, what was expected, and the mend, in one line: the command prints it as it is.

module NeverBlock
  # Root of everything NeverBlock raises itself.
  class Error < StandardError; end

  # An option, an address or a variable of the environment that does not make sense.
  class ConfigError < Error; end

  # Something this version recognises and does not do yet.
  class NotYetError < ConfigError; end

  # The application cannot be loaded.
  class ApplicationError < Error; end

  # The server cannot start here: a busy port, a missing permission, a limit of the system.
  class StartError < Error; end
end
