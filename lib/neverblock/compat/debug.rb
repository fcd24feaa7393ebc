# frozen_string_literal: true

# The gem debug, whose prelude a generated Rails application has in its Gemfile: at a breakpoint it stops every thread of the process, and the fiber that has come
# there blocks its thread, so that one `debugger` in one request holds all of them. Here, in a fiber of our loop, only that fiber waits for what is typed: other
# fibers go on, so do other threads, and a second one that comes to a breakpoint meanwhile waits in line for the prompt. Steps (`next`, `finish`) are the fiber's.
# debug 1.9 to 1.11: lib/debug/thread_client.rb (suspend, fiber_blocking, step_tp, on_load), lib/debug/session.rb (stop_all_threads, in_subsession?,
# ask_thread_client).

module NeverBlock
  module Compat
    module Debug
      @prompts = {}.compare_by_identity

      class << self
        # @return [Hash{Object => true}] the thread clients of which a fiber of ours is at the prompt
        attr_reader :prompts

        # Puts it in place once: now if debug is loaded, or when its prelude loads it.
        # @return [void]
        def apply
          return patch if defined?(::DEBUGGER__::ThreadClient)

          ::Kernel.singleton_class.prepend(Await) if ::Kernel.method_defined?(:debugger) && !::Kernel.singleton_class.include?(Await)
        end

        private

        def patch
          client = ::DEBUGGER__::ThreadClient
          session = ::DEBUGGER__::Session
          return if client.include?(Client) || !known?(client, session)

          client.prepend(Client)
          session.prepend(Session)
          ::DEBUGGER__.singleton_class.prepend(Frames)
        end

        def known?(client, session)
          { client => [%i[suspend step_tp on_load management? skip_internal_path?], %i[fiber_blocking]],
            session => [%i[in_subsession? on_load], %i[stop_all_threads ask_thread_client]] }.all? do |owner, (open, hidden)|
            open.all? { |name| owner.method_defined?(name) } && hidden.all? { |name| owner.private_method_defined?(name) }
          end
        end
      end

      # The prelude has a Kernel#debugger of its own; the one that is defined then is of the whole debugger.
      module Await
        def method_added(name)
          super
          Debug.apply if name == :debugger
        end
      end

      # Prepended to ThreadClient, which is a thread's.
      module Client
        # Waits for its turn at the prompt, and for what is typed there.
        def suspend(event, *, **)
          return super if event == :pause || management? || !Compat.scheduler || neverblock_prompt.owned?

          neverblock_prompt.synchronize do
            Debug.prompts[self] = true
            super
          ensure
            Debug.prompts.delete(self)
          end
        end

        # The session's thread, which would answer, waits for what is typed.
        def on_load(iseq, source)
          neverblock_elsewhere? ? ::DEBUGGER__::SESSION.on_load(iseq, source) : super
        end

        # Its block counts the frames above it, so that it cannot be wrapped.
        def step_tp(...)
          @neverblock_stepping = ::Fiber.current
          super
        end

        # @return [Boolean] whether a fiber of ours is at the prompt, and the caller is another one, or another thread
        def neverblock_elsewhere?
          !Debug.prompts.empty? && !management? && !neverblock_prompt.owned?
        end

        private

        # What decides last whether a step ends here: not in another fiber.
        def skip_internal_path?(path)
          super || (Compat.scheduler && !::Fiber.current.equal?(@neverblock_stepping))
        end

        # Held by the fiber that is at the prompt.
        def neverblock_prompt
          @neverblock_prompt ||= ::Thread::Mutex.new
        end

        # What is not a prompt is answered at once, and two must not wait for it together: they have one queue, and one mode.
        def fiber_blocking(&)
          neverblock_prompt.owned? ? yield : Compat.blocking(&)
        end
      end

      # As the debugger leaves out its own.
      module Frames
        def capture_frames(*)
          super.reject { |frame| frame.path == __FILE__ }
        end
      end

      module Session
        # A `debugger` in the code that others run while one is at the prompt is a breakpoint like any other.
        def in_subsession?
          super && !::Thread.current.debug_thread_client&.neverblock_elsewhere?
        end

        private

        def stop_all_threads
          super if Debug.prompts.empty?
        end

        # The session's thread, which would do it, waits for what is typed.
        def ask_thread_client(thread)
          return super if Debug.prompts.empty?

          @th_clients[thread] ||= ::DEBUGGER__::ThreadClient.new((@tc_id += 1), @q_evt, ::Thread::Queue.new, thread)
        end
      end
    end
  end
end
