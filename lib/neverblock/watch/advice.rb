# frozen_string_literal: true

# What could be done at the same time, in one query, or within a limit: advice of what was observed
# of a server's requests (/observed.json), and of the code that they ran. The code is read here, in
# the process that asks: the server does nothing for it (docs/decisions/0026-advice.md).
#
#   frame              a request, its waits, their frames
#   code, sources      the tree of a file; all files of the application, and their methods by name
#   uses, words        what a piece of code reads and writes; what names of methods say
#   place              the method or block in which waits part, and the call of each
#   step, order        a call with its waits; which must come before which
#   sequence           waits that could have been at the same time
#   repeats, limits    waits in a loop; waits without a limit
#   pools              pools that are too small (/status.json)
#   rewrite, report    advice in words; all of it

require "neverblock/errors"
require "neverblock/watch/advice/frame"

begin
  require "prism"
rescue LoadError
  raise NeverBlock::Error, "advice reads Ruby code with the gem prism, which is not installed: " \
                           "`gem install prism` (with Bundler, add it to the Gemfile)"
end

require "neverblock/watch/advice/limits"
require "neverblock/watch/advice/rewrite"
require "neverblock/watch/advice/repeats"
require "neverblock/watch/advice/sequence"

module NeverBlock
  module Watch
    module Advice
      # Smallest saving that is worth a word, in seconds.
      LEAST_S = 0.005

      module_function

      # @param observed [Hash] /observed.json
      # @return [Array<Request>]
      def requests(observed)
        list = observed["requests"]
        list.is_a?(Array) ? list.map { |document| Request.new(document) } : []
      end

      # @param requests [Array<Request>]
      # @param least_s [Float] advice that saves less is left out
      # @return [Array<Hash{String => Object}>] what saves most first; docs/guides/advice.md has the
      #   fields
      def of(requests, least_s: LEAST_S)
        sources = Sources.new(paths(requests))
        seen = requests.map { |request| [request, found(request, sources)] }
        list = by_key(seen).map { |same| entry(same, seen, sources) }
        kept = list.select { |advice| advice["saves_s"].nil? || advice["saves_s"] >= least_s }
        kept.sort_by { |advice| [-advice["saves_s"].to_f, advice["title"]] }
      end

      # @param requests [Array<Request>]
      # @return [Array<String>] files of the application that are not here
      def unread(requests)
        paths(requests).reject { |path| File.readable?(path) }
      end

      # @param requests [Array<Request>]
      # @return [Array<String>] files of the application that requests have waited in
      def paths(requests)
        requests.flat_map { |request| request.waits.flat_map(&:own_frames) }.map(&:path).uniq
      end

      def found(request, sources)
        Sequence.new(sources).of(request) + Repeats.new(sources).of(request) +
          Limits.new.of(request)
      end

      # @return [Array<Array(Request, Object)>] each list: one piece of advice, in several requests
      def by_key(seen)
        all = seen.flat_map { |request, founds| founds.map { |found| [request, found] } }
        all.group_by { |_, found| [found.class, found.key] }.values
      end

      def entry(same, seen, sources)
        names = same.map { |request, _| request.name }.uniq
        counts = { "requests" => names, "seen" => same.map(&:first).uniq.size,
                   "observed" => seen.count { |request, _| names.include?(request.name) } }
        typical = typical(same.map(&:last))
        Rewrite.of(typical, sources).merge(counts)
      end

      # The one in the middle, by what it saves.
      def typical(founds)
        return founds.max_by(&:waited_s) if founds.first.is_a?(Limits::Found)

        founds.sort_by(&:saved_s)[founds.size / 2]
      end

      private_class_method :paths, :found, :by_key, :entry, :typical
    end
  end
end
