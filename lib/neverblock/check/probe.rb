# frozen_string_literal: true

# Sends a few requests to the loaded application, in fibers of our loop as a server does. Reports
# what a request leaves in places that all requests of a process share: globals, the working
# directory, variables of classes and modules. Only writes that repeat with each request are
# reported: what the first requests alone write is a cache. Writes outside of the requests' fibers
# are not seen.

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
      # Requests for each path that fill caches.
      WARM = 2
      # Requests for each path after them, whose writes are recorded.
      RECORDED = 2
      # Most names in one finding about gems.
      NAMES_MAX = 8

      SHARED = "which all concurrent requests of a process share"

      # @param app [#call]
      # @param paths [Array<String>] empty: those of a Rails application's routes, or /
      # @param stage [#call] called with the current action
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
        findings = NeverBlock.run { @paths.flat_map { |path| ask(path) } }
        findings.uniq { |finding| [finding.rule, finding.seen] }
      ensure
        @recorder&.stop
      end

      private

      def ask(path)
        @stage.call("sending GET #{path}")
        answers, scheme = warm(path)
        changes = Array.new(RECORDED) do
          before = @state.take
          answers << @recorder.during { request(path, scheme) }
          @state.difference(before, @state.take)
        end
        [*failure(path, answers), *written(path), *classes(path, changes.inject(:&))]
      end

      # @return [Array(Array<Request>, String)] the first requests, by the scheme that the
      #   application wants, and that scheme
      def warm(path)
        first = request(path, "http")
        scheme = first.to_https? ? "https" : "http"
        answers = first.to_https? ? [] : [first]
        answers << request(path, scheme) while answers.size < WARM
        [answers, scheme]
      end

      def request(path, scheme)
        Request.new(@app, path, scheme: scheme).call
      end

      def failure(path, answers)
        failed = answers.find(&:failed?) or return []
        seen = "GET #{path} #{failed}: the writes of a successful request are unknown"
        [Finding.of(:note, "probe", seen, "probe paths that succeed: --probe=/PATH,/OTHER")]
      end

      # Writes of every recorded request.
      def written(path)
        @recorder.drain(RECORDED).map do |kind, name, place|
          level, rule, what, mend = KINDS.fetch(kind)
          seen = "GET #{path} #{format(what, name)} each time (#{place}), #{SHARED}"
          Finding.of(level, rule, seen, mend)
        end
      end

      KINDS = {
        global: [:warning, "state-global", "sets %s",
                 "pass it as an argument, or keep it in Thread.current[:name], which belongs to " \
                 "the fiber"],
        folder: [:warning, "state-folder", "changes the working directory (Dir.chdir to %s)",
                 "use absolute paths; `chdir:` of spawn and system"]
      }.freeze
      private_constant :KINDS

      def classes(path, changed)
        own, others = changed.partition(&:own?)
        found = own.map do |change|
          Finding.of(:warning, "state-class",
                     "GET #{path} changes #{change} each time (#{change.place}), #{SHARED}",
                     "keep it in the request (an instance variable, CurrentAttributes), or guard " \
                     "it if all requests are to share it")
        end
        found + gems(path, others)
      end

      def gems(path, changes)
        return [] if changes.empty?

        names = changes.map(&:to_s).uniq
        more = " and #{names.size - NAMES_MAX} more" if names.size > NAMES_MAX
        list = "#{names.first(NAMES_MAX).join(", ")}#{more}"
        [Finding.of(:note, "state-gems",
                    "GET #{path} changes variables of classes in gems each time: #{list}",
                    "counters and caches are fine; data of one request is not")]
      end
    end
  end
end
