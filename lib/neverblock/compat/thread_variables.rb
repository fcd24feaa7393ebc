# frozen_string_literal: true

# Thread variables belong to a thread, and all fibers of an event loop run on one thread: what one request sets, every other would read. A scheduled fiber is what a
# thread is elsewhere. So its thread variables are its own here, and those of the fibers it resumes (an Enumerator's, Fiber.new): Scheduler.root. All Rubies;
# thread.c, rb_thread_variable_get. Another thread that asks for this thread's variables gets the thread's own.

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

      # @raise [TypeError] in Ruby's own words
      def self.key(name)
        return name if name.is_a?(Symbol)

        text = String.try_convert(name) or raise TypeError, "#{name.inspect} is not a symbol nor a string"
        text.to_sym
      end
    end

    Thread.prepend(ThreadVariables)
  end
end
