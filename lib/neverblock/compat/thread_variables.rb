# frozen_string_literal: true

# Thread variables belong to a thread, and all fibers of an event loop run on one thread. Every
# request would read what one of them sets. Here a request fiber has thread variables of its own,
# which the fibers that it resumes share (an Enumerator's, Fiber.new): Scheduler.root. All Rubies;
# thread.c, rb_thread_variable_get. Another thread that reads this thread's variables gets the
# thread's own.

module NeverBlock
  module Compat
    module ThreadVariables
      def thread_variable_get(name)
        locals = Scheduler.locals(self, false)
        locals == false ? super : locals && locals[ThreadVariables.key(name)]
      end

      def thread_variable_set(name, value)
        locals = Scheduler.locals(self, !value.nil?)
        return super if locals == false

        key = ThreadVariables.key(name)
        value.nil? ? locals&.delete(key) : locals[key] = value
        value
      end

      def thread_variable?(name)
        locals = Scheduler.locals(self, false)
        locals == false ? super : !locals.nil? && locals.key?(ThreadVariables.key(name))
      end

      def thread_variables
        locals = Scheduler.locals(self, false)
        locals == false ? super : locals.to_h.keys
      end

      # @raise [TypeError] with Ruby's own message
      def self.key(name)
        return name if name.is_a?(Symbol)

        text = String.try_convert(name)
        raise TypeError, "#{name.inspect} is not a symbol nor a string" unless text

        text.to_sym
      end
    end

    Thread.prepend(ThreadVariables)
  end
end
