# frozen_string_literal: true

# The passphrase of an encrypted key: from an environment variable, or from what a command writes.

require "neverblock/tls/unusable"

module NeverBlock
  module TLS
    class Passphrase
      # @param key [String] path of the key's file, for messages
      # @param source [Array(Symbol, String), nil] :env and a variable's name, or :command and a
      #   command line
      def initialize(key, source)
        @key = key
        @kind, @argument = source
      end

      # Blocks until the command has ended.
      # @return [String]
      # @raise [Unusable]
      def read
        case @kind
        when :env then of_environment
        when :command then of_command
        else
          raise Unusable, "#{needed}; say where it is: passphrase_env=NAME or " \
                          "passphrase_command=COMMAND"
        end
      end

      # @return [String]
      def to_s
        @kind == :env ? "the environment variable #{@argument}" : "the command #{@argument.inspect}"
      end

      private

      def needed
        "#{@key} needs a passphrase"
      end

      def of_environment
        ENV.fetch(@argument) { raise Unusable, "#{needed}, and #{self} is not set" }
      end

      # A line's end after the passphrase is not part of it. A front reaps all children, and may
      # take the status first.
      def of_command
        output = IO.popen(@argument, &:read)
        status = $?
        return output.chomp if status ? status.success? : !output.empty?

        raise Unusable, "#{needed}, and #{self} #{ending(status)}"
      rescue SystemCallError => e
        raise Unusable, "#{needed}, and #{self} cannot be run: #{e.message.lines.first.strip}"
      end

      def ending(status)
        return "has written none; its status is unknown" unless status
        return "was ended by signal #{status.termsig}" if status.signaled?

        "ended with status #{status.exitstatus}"
      end
    end
  end
end
