# frozen_string_literal: true

require "fileutils"
require "json"

module NeverBlock
  module Bench
    # The finished runs of a claim, one line each, kept until the report is written. An interrupted
    # measurement continues with them. Runs with other settings or loads are ignored.
    class Journal
      # A run, and what the report tells about its server.
      Entry = Struct.new(:run, :seen)

      class << self
        # @return [Journal] a journal that keeps nothing
        def none
          new(nil, nil)
        end

        # @param claim [Claim]
        # @param settings [Settings]
        # @param directory [String] folder of the report
        # @return [Journal] one that keeps nothing if the claim's runs are short
        def of(claim, settings, directory)
          return none unless claim.resumable?

          loads = claim.scenarios.map { |one| [one.name, one.title, one.load.to_h] }
          plan = [settings.seconds, settings.warmup_seconds, *loads]
          new(File.join(directory, "#{claim.name}#{"-quick" if settings.quick}.runs"), plan)
        end
      end

      # @return [String, nil]
      attr_reader :path

      # @param path [String, nil]
      # @param plan [Object] settings and loads of the runs, as JSON values; a file with another
      #   plan is ignored
      def initialize(path, plan)
        @path = path
        @plan = JSON.parse(JSON.generate(plan))
        @entries = read
      end

      # @return [Integer] number of runs
      def size
        @entries.size
      end

      # @return [Entry, nil] the finished run
      def find(round, scenario, server)
        place = [round, scenario, server]
        @entries.find { |one| one.run.values_at("round", "scenario", "server") == place }
      end

      # @param run [Hash{String => Object}]
      # @param seen [Hash{String => Object}] command and yjit of its server
      def add(run, seen)
        return unless @path

        @entries << Entry.new(run, seen)
        FileUtils.mkdir_p(File.dirname(@path))
        rows = @entries.map { |entry| { "run" => entry.run, "seen" => entry.seen } }
        lines = [{ "plan" => @plan }, *rows].map { |line| JSON.generate(line) }
        File.write("#{@path}.new", "#{lines.join("\n")}\n")
        File.rename("#{@path}.new", @path)
      end

      # To be called when the report is written.
      def remove
        FileUtils.rm_f(@path) if @path
      end

      private

      def read
        return [] unless @path && File.exist?(@path)

        plan, *runs = File.readlines(@path).map { |line| JSON.parse(line) }
        plan == { "plan" => @plan } ? runs.map { |line| Entry.new(line["run"], line["seen"]) } : []
      rescue JSON::ParserError
        []
      end
    end
  end
end
