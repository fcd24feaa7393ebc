# frozen_string_literal: true

# Asks the loaded application for a few paths, in fibers of our loop as a server does, and tells what a request leaves where all requests of a process find it: thread
# variables, globals, the process's folder, variables of classes and modules. What is written by the first requests only is a cache; what each request writes is its
# state. What runs outside of fibers that are asked is not looked at.

require "neverblock/boot/application"
require "neverblock/check/finding"
require "neverblock/check/probe/class_state"
require "neverblock/check/probe/recorder"
require "neverblock/check/probe/request"
require "neverblock/check/probe/routes"
require "neverblock/verbs/run"

module NeverBlock
  module Check
    class Probe
      # Requests for a path that fill caches, and those that are looked at.
      WARM = 2
      LOOKED_AT = 2
      # Names in one finding about gems.
      NAMES_MAX = 8

      SHARED = "which all requests that run at once in a process share"

      # @param app [#call]
      # @param paths [Array<String>] empty: what the routes of a Rails application say, or /
      # @param stage [#call] takes what is being done
      # @param root [String] the application's folder
      def initialize(app, paths, stage: ->(_what) {}, root: Dir.pwd)
        @app = app
        @paths = paths.empty? ? Routes.paths : paths
        @stage = stage
        @root = root
        @state = ClassState.new(root)
      end

      # @return [Array<Finding>]
      def run
        @recorder = Recorder.new(@root).start
        NeverBlock.run { @paths.flat_map { |path| ask(path) } }.uniq { |finding| [finding.rule, finding.seen] }
      ensure
        @recorder&.stop
      end

      private

      def ask(path)
        @stage.call("asking for GET #{path}")
        answers = Array.new(WARM) { Request.new(@app, path).call }
        changes = Array.new(LOOKED_AT) do
          before = @state.take
          answers << @recorder.during { Request.new(@app, path).call }
          @state.difference(before, @state.take)
        end
        [*failure(path, answers), *written(path), *classes(path, changes.inject(:&))]
      end

      def failure(path, answers)
        failed = answers.find(&:failed?) or return []
        [Finding.of(:note, "probe", "GET #{path} #{failed}: what a request does that goes well has not been seen", "ask for paths that answer: --probe=/PATH,/OTHER")]
      end

      # In each of those that were looked at.
      def written(path)
        @recorder.drain(LOOKED_AT).map do |kind, name, place|
          level, rule, what, mend = KINDS.fetch(kind)
          Finding.of(level, rule, "GET #{path} #{format(what, name)} each time (#{place}), #{SHARED}", mend)
        end
      end

      KINDS = {
        global: [:warning, "state-global", "sets %s", "hand it on as an argument, or keep it in Thread.current[:name], which is a fiber's own"],
        folder: [:warning, "state-folder", "changes the process's folder (Dir.chdir to %s)", "absolute paths; `chdir:` of spawn and system"]
      }.freeze
      private_constant :KINDS

      def classes(path, changed)
        own, others = changed.partition(&:own?)
        found = own.map do |change|
          Finding.of(:warning, "state-class", "GET #{path} changes #{change} each time (#{change.place}), #{SHARED}",
                     "keep it in the request (an instance variable, CurrentAttributes), or guard it if all are to share it")
        end
        found + gems(path, others)
      end

      def gems(path, changes)
        return [] if changes.empty?

        names = changes.map(&:to_s).uniq
        more = " and #{names.size - NAMES_MAX} more" if names.size > NAMES_MAX
        [Finding.of(:note, "state-gems", "GET #{path} changes variables of classes in gems each time: #{names.first(NAMES_MAX).join(", ")}#{more}",
                    "a counter or a cache is no fault; what belongs to one request is")]
      end
    end
  end
end
