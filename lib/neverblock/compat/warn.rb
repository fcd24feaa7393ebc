# frozen_string_literal: true

# Warnings to the process's own $stderr are written by fwrite(3) with Ruby's lock held (io.c, rb_write_error2; all Rubies): when nobody reads them the whole
# process stands still. In a fiber they are written as anything else is. Kernel#warn and Ruby's own warnings come by Warning.warn, which gems may go
# before as ever.

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
