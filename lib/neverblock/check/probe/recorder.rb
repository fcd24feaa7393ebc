# frozen_string_literal: true

# Records writes of a request to places that all requests share: globals, and the working directory.
# Each is counted by name and place. Only writes in the fibers of the probe's requests count.

module NeverBlock
  module Check
    class Probe
      class Recorder
        # Globals of Ruby that a request may set for itself, or that are no state: the last match,
        # the last exception, the switches.
        SPECIAL = /\A\$(?:
          [^a-zA-Z]|-|_$|VERBOSE\z|DEBUG\z|FILENAME\z|PROGRAM_NAME\z|LOADED_FEATURES\z|LOAD_PATH\z|
          stdin\z
        )/x.freeze
        OURS = File.expand_path("../..", __dir__)

        class << self
          # @return [Recorder, nil] receives the writes
          attr_accessor :current
        end

        # Prepended to Dir.singleton_class.
        module Folder
          def chdir(*arguments)
            Recorder.current&.write(:folder, arguments.first.inspect)
            super
          end
        end

        # @param root [String] the application's folder
        def initialize(root)
          @root = root
          @counts = Hash.new(0)
          @on = false
        end

        # @return [self]
        def start
          Recorder.current = self
          ::Dir.singleton_class.prepend(Folder)
          @globals = []
          self
        end

        # @return [void]
        def stop
          Recorder.current = nil
          @globals.each { |name| untrace_var(name) }
        end

        # Records during the block.
        def during
          watch_globals
          @on = true
          yield
        ensure
          @on = false
        end

        # @param kind [Symbol]
        # @param name [String]
        def write(kind, name)
          return unless @on && Compat.scheduler

          place = origin or return
          @counts[[kind, name, place]] += 1
        end

        # Returns and forgets what was counted.
        # @param times [Integer]
        # @return [Array<Array(Symbol, String, String)>] kind, name and place of writes that were
        #   counted at least that often
        def drain(times)
          @counts.select { |_, count| count >= times }.keys
        ensure
          @counts.clear
        end

        private

        # Watches globals that have appeared since the last call.
        def watch_globals
          (global_variables.grep_v(SPECIAL) - @globals).each do |name|
            trace_var(name, ->(_value) { write(:global, name.to_s) })
            @globals << name
          end
        end

        # @return [String, nil] the line that wrote; nil: a line of this gem
        def origin
          frame = caller_locations(2, 12).find { |location| location.path != __FILE__ }
          # A rackup file is evaluated and has no absolute path.
          path = frame && (frame.absolute_path || frame.path)
          return if path.nil? || path.start_with?(OURS)

          "#{path.delete_prefix("#{@root}/")}:#{frame.lineno}"
        end
      end
    end
  end
end
