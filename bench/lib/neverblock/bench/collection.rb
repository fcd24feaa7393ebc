# frozen_string_literal: true

require "fileutils"
require "json"
require "time"

module NeverBlock
  module Bench
    # The reports of one command together: a page for people, and for `all` a JSON without the
    # single runs. Written anew after each claim, so that an interruption keeps what is done.
    class Collection
      SCHEMA = "neverblock-bench-report/1"

      # @return [Array<Hash{String => Object}>] reports of claims, without runs
      attr_reader :reports

      # @param planned [Array<String>] names of all claims of the command
      # @param quick [Boolean]
      # @param directory [String, nil] nil: nothing is written
      # @param old [Array<Hash{String => Object}>, nil] reports to compare with
      def initialize(planned, quick:, directory:, old: nil)
        @planned = planned
        @quick = quick
        @directory = directory
        @old = old
        @reports = []
        @reasons = {}
      end

      # Refuses a folder that cannot be written, before anything is measured.
      # @param directory [String] created if missing
      # @raise [Error]
      def self.check_writable(directory)
        FileUtils.mkdir_p(directory)
        File.open(File.join(directory, ".neverblock-bench"), "w").close
        FileUtils.rm_f(File.join(directory, ".neverblock-bench"))
      rescue SystemCallError => e
        raise Error, "cannot write the report to #{directory} (#{e.class.new.message}); " \
                     "give --report a folder that can be written"
      end

      # @param report [Hash{String => Object}] as NAME.json has it
      def add(report)
        @reports << report.reject { |key, _| key == "runs" }
        write
      end

      # @param claim [String]
      # @param reason [String] why it has no report
      def leave_out(claim, reason)
        @reasons[claim] = reason
        write
      end

      # @return [Array<Hash{String => String}>] claims without a report
      def missing
        names = @planned - @reports.map { |report| report["claim"] }
        names.map { |name| { "claim" => name, "reason" => @reasons.fetch(name, "not reached") } }
      end

      # @return [Comparison, nil]
      def comparison
        @old && Comparison.new(@old, @reports)
      end

      # @return [Hash{String => Object}]
      def to_h
        { "schema" => SCHEMA, "missing" => missing, "reports" => @reports }
      end

      # @return [Array<String>] the files
      def paths
        return [] unless @directory

        base = File.join(@directory, "#{name}#{"-quick" if @quick}")
        whole? ? ["#{base}.html", "#{base}.json"] : ["#{base}.html"]
      end

      private

      def whole?
        @planned.size > 1
      end

      def name
        whole? ? "report" : @planned.first
      end

      def write
        texts = [Page.new(self).to_html, "#{JSON.pretty_generate(to_h)}\n"]
        paths.zip(texts) { |path, text| File.write(path, text) }
      rescue SystemCallError => e
        raise Error, "cannot write the report to #{@directory}: #{e.message}"
      end
    end
  end
end
