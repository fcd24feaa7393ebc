# frozen_string_literal: true

# The gem debug. A generated Rails application has its prelude in the Gemfile. At a breakpoint it
# stops every thread of the process, and the fiber there blocks its thread, so that one `debugger`
# in one request stops all of them.
#
# Here, in a fiber of our loop, only that fiber waits for input. Other fibers and threads go on. A
# second fiber that reaches a breakpoint meanwhile waits for the prompt. Steps (`next`, `finish`)
# belong to the fiber.
#
# debug 1.9 to 1.11: lib/debug/thread_client.rb (suspend, fiber_blocking, step_tp, on_load),
# lib/debug/session.rb (stop_all_threads, in_subsession?, ask_thread_client).

module NeverBlock
  module Compat
    module Debug
      # The methods that are wrapped or called: public ones, private ones.
      CLIENT = [
        %i[suspend step_tp on_load management? skip_internal_path?], %i[fiber_blocking]
      ].freeze
      SESSION = [%i[in_subsession? on_load], %i[stop_all_threads ask_thread_client]].freeze
      private_constant :CLIENT, :SESSION

      @prompts = {}.compare_by_identity

      class << self
        # @return [Hash{Object => true}] the thread clients with a fiber of ours at the prompt
        attr_reader :prompts

        # Installs it once: now if debug is loaded, or when its prelude loads it.
        # @return [void]
        def apply
          return patch if defined?(::DEBUGGER__::ThreadClient)

          return unless ::Kernel.method_defined?(:debugger)

          ::Kernel.singleton_class.prepend(Await) unless ::Kernel.singleton_class.include?(Await)
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
          has?(client, *CLIENT) && has?(session, *SESSION)
        end

        def has?(owner, open, hidden)
          open.all? { |name| owner.method_defined?(name) } &&
            hidden.all? { |name| owner.private_method_defined?(name) }
        end
      end

      # The prelude has a Kernel#debugger of its own. The whole debugger defines another one.
      module Await
        def method_added(name)
          super
          Debug.apply if name == :debugger
        end
      end

      # Prepended to ThreadClient, of which each thread has one.
      module Client
        # Waits for its turn at the prompt, and for input there. Parks.
        def suspend(event, *, **)
          return super if event == :pause || management?
          return super if !Compat.scheduler || neverblock_prompt.owned?

          neverblock_prompt.synchronize do
            Debug.prompts[self] = true
            super
          ensure
            Debug.prompts.delete(self)
          end
        end

        # The session's thread would answer, but it waits for input.
        def on_load(iseq, source)
          neverblock_elsewhere? ? ::DEBUGGER__::SESSION.on_load(iseq, source) : super
        end

        # Its block counts the frames above it, so it cannot be wrapped.
        def step_tp(...)
          @neverblock_stepping = ::Fiber.current
          super
        end

        # @return [Boolean] whether a fiber of ours is at the prompt, and the caller is another
        #   fiber or thread
        def neverblock_elsewhere?
          !Debug.prompts.empty? && !management? && !neverblock_prompt.owned?
        end

        private

        # The last test of whether a step ends here. It does not in another fiber.
        def skip_internal_path?(path)
          super || (Compat.scheduler && !::Fiber.current.equal?(@neverblock_stepping))
        end

        # The mutex is held by the fiber at the prompt.
        def neverblock_prompt
          @neverblock_prompt ||= ::Thread::Mutex.new
        end

        # Requests other than a prompt are answered at once, and block. Two fibers must not wait for
        # an answer together: they have one queue, and one mode.
        def fiber_blocking(&)
          neverblock_prompt.owned? ? yield : Compat.blocking(&)
        end
      end

      # Removes our own frames, as the debugger does with its own.
      module Frames
        def capture_frames(*)
          super.reject { |frame| frame.path == __FILE__ }
        end
      end

      # Prepended to DEBUGGER__::Session.
      module Session
        # While a fiber is at the prompt, a `debugger` in other code is a breakpoint like any other.
        def in_subsession?
          super && !::Thread.current.debug_thread_client&.neverblock_elsewhere?
        end

        private

        def stop_all_threads
          super if Debug.prompts.empty?
        end

        # The session's thread would do it, but it waits for input.
        def ask_thread_client(thread)
          return super if Debug.prompts.empty?

          @th_clients[thread] ||= neverblock_client(thread)
        end

        def neverblock_client(thread)
          @tc_id += 1
          ::DEBUGGER__::ThreadClient.new(@tc_id, @q_evt, ::Thread::Queue.new, thread)
        end
      end
    end
  end
end
