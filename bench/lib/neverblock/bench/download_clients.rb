# frozen_string_literal: true

require "json"
require "uri"

module NeverBlock
  module Bench
    # Clients that download and check what they get.
    # clients: how many; rate: bytes a second that each reads at most, 0: as fast as it can; stopped: further ones that begin with the last file and stop reading;
    # downloads: the end comes when so many have ended, 0: with the time; fresh: a connection for each download; check: every so many downloads are compared byte by
    # byte; hangups: of 1000 downloads so many are cut off by their client; files: names of FileSet, asked in equal parts, the largest last; files_quick: in a quick look.
    Crowd = Struct.new(:clients, :rate, :stopped, :downloads, :fresh, :check, :hangups, :files, :files_quick, keyword_init: true) do
      def initialize(clients:, files:, rate: 0, stopped: 0, downloads: 0, fresh: false, check: 1, hangups: 0, files_quick: nil)
        super
        freeze
      end

      # @param quick [Boolean]
      # @return [Array<String>]
      def names(quick)
        quick && files_quick ? files_quick : files
      end
    end

    # Runs a crowd of them through benchmark/c/downloads.c, which says how it checks.
    class DownloadClients
      MARK = "bench-json "
      BEGINS = "begin"
      # Loopback addresses that the clients come from.
      SOURCES = 8
      # A virtual machine may stand still for so long.
      GRACE_SECONDS = 60

      # What they saw while counting: requests that ended, bytes of bodies, first and whole in microseconds from the request (mean, p50 .. max), errors by kind;
      # top: of the largest file; standstill: the longest time that they did not run; waiting: without a first byte at the end, counted in `first` with what they have waited;
      # faults: texts of the first errors.
      Outcome = Struct.new(:requests, :bytes, :compared_bytes, :top_bytes, :top_us, :hangups, :waiting, :cpu_us, :longest_pause_us, :standstill_us, :stopped_open, :stopped_closed,
                           :first_us, :whole_us, :errors, :by_file, :seconds, :faults, keyword_init: true) do
        def error_count
          errors.values.sum
        end
      end

      # @param home [String] where the program is built
      # @param prefix [Array<String>] what its command begins with
      # @param processes [Integer] that share the clients
      def initialize(home: Bundle.home(ROOT), prefix: Cores.program_prefix, processes: 1)
        @program = CProgram.new("downloads", home: home)
        @processes = processes
        @prefix = prefix
      end

      # @param load [Crowd]
      # @param entries [Array<FileSet::Entry>] the load's files
      # @param url [String]
      # @param ramp [Numeric] seconds over which the clients begin; nothing of it is counted
      # @param seconds [Numeric] that are counted
      # @param seed [Integer] the order of the files
      # @yield when counting begins
      # @return [Outcome]
      # @raise [Error] when it cannot be built, or fails
      def run(load, entries:, url:, ramp:, seconds:, seed: 1)
        text = Child.capture([*@prefix, @program.build], limit_seconds: ramp + seconds + GRACE_SECONDS, input: plan(load, entries, URI(url), ramp, seconds, seed)) do |line|
          yield if block_given? && line.chomp == BEGINS
        end
        self.class.parse(text)
      rescue Error => e
        raise Error, "#{e.message} (#{Process.last_status})"
      end

      # @param text [String] all that the program printed
      # @return [Outcome]
      def self.parse(text)
        result = text.lines.find { |line| line.start_with?(MARK) }
        faults = text.lines.grep(/\Aerror /).map { |line| line.chomp.delete_prefix("error ") }
        raise Error, "the clients failed: #{(faults.first || text.lines.last).to_s.strip[0, 200]}" unless result

        Outcome.new(**JSON.parse(result.delete_prefix(MARK)).transform_keys(&:to_sym), faults: faults)
      end

      private

      def plan(load, entries, uri, ramp, seconds, seed)
        told = { server: "#{uri.host} #{uri.port}", fresh: load.fresh ? 1 : 0, sources: SOURCES, processes: @processes, ramp: ramp, seconds: seconds, seed: seed,
                 type: FileSet::TYPE, **load.to_h.slice(:clients, :rate, :stopped, :downloads, :check, :hangups) }
        files = entries.map { |entry| "file #{entry.disk} #{entry.url} #{entry.modified_text}" }
        "#{[*told.map { |pair| pair.join(" ") }, *files].join("\n")}\n"
      end
    end
  end
end
