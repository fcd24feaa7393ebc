# frozen_string_literal: true

# Warnings to the process's own $stderr are written by fwrite(3) with Ruby's lock held (io.c,
# rb_write_error2; all Rubies). When they are not read, the whole process stops. Here, in a fiber,
# they are written as other text is. Kernel#warn and Ruby's own warnings use Warning.warn, which
# gems may still override.

module NeverBlock
  module Compat
    module Warn
      def warn(message, category: nil)
        return super unless category.nil? && message.is_a?(String) && Compat.scheduler

        $stderr.write(message)
        nil
      end
    end

    Warning.prepend(Warn)
  end
end
