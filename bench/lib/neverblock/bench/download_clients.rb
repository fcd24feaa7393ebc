# frozen_string_literal: true

require "json"
require "uri"

module NeverBlock
  module Bench
    # Clients that download files and check them.
    #
    # clients: their number. rate: bytes a second that each reads at most; 0: no limit. stopped:
    # number of further clients that start with the last file and stop reading. downloads: the run
    # ends after that many; 0: after its time. fresh: a new connection for each download. check:
    # every Nth download is compared byte by byte. hangups: of 1000 downloads, the number that the
    # client aborts. files: names of FileSet, requested equally often, the largest last.
    # files_quick: the same for a quick run.
    CROWD_FIELDS = %i[
      clients rate stopped downloads fresh check hangups files files_quick
    ].freeze
    private_constant :CROWD_FIELDS

    Crowd = Struct.new(*CROWD_FIELDS, keyword_init: true) do
      def initialize(clients:, files:, rate: 0, stopped: 0, downloads: 0, fresh: false, check: 1,
                     hangups: 0, files_quick: nil)
        super
        freeze
      end

      # @param quick [Boolean]
      # @return [Array<String>]
      def names(quick)
        quick && files_quick ? files_quick : files
      end
    end

    # Runs a Crowd by benchmark/c/downloads.c, which describes the checks.
    class DownloadClients
      MARK = "bench-json "
      BEGINS = "begin"
      # Number of loopback addresses that the clients connect from.
      SOURCES = 8
      # A virtual machine may stand still for that long.
      GRACE_SECONDS = 60

      # The counts: ended requests, bytes of bodies, errors by kind. first and whole are
      # microseconds from the request to the first and the last byte (mean, p50 .. max). top: of the
      # largest file. standstill: the longest time in which the clients did not run. waiting:
      # requests without a first byte at the end, which count in `first` with the time so far.
      # faults: texts of the first errors.
      OUTCOME_FIELDS = %i[
        requests bytes compared_bytes top_bytes top_us hangups waiting cpu_us longest_pause_us
        standstill_us stopped_open stopped_closed first_us whole_us errors by_file seconds faults
      ].freeze
      private_constant :OUTCOME_FIELDS

      Outcome = Struct.new(*OUTCOME_FIELDS, keyword_init: true) do
        def error_count
          errors.values.sum
        end
      end

      # @param home [String] folder of the compiled program
      # @param prefix [Array<String>] first words of its command
      # @param processes [Integer] number of processes that share the clients
      def initialize(home: Bundle.home(ROOT), prefix: Cores.program_prefix, processes: 1)
        @program = CProgram.new("downloads", home: home)
        @processes = processes
        @prefix = prefix
      end

      # @param load [Crowd]
      # @param entries [Array<FileSet::Entry>] the load's files
      # @param url [String]
      # @param ramp [Numeric] seconds over which the clients start; not counted
      # @param seconds [Numeric] counted seconds
      # @param seed [Integer] for the order of the files
      # @yield when counting starts
      # @return [Outcome]
      # @raise [Error] when it cannot be built, or fails
      def run(load, entries:, url:, ramp:, seconds:, seed: 1)
        text = Child.capture([*@prefix, @program.build],
                             limit_seconds: ramp + seconds + GRACE_SECONDS,
                             input: plan(load, entries, URI(url), ramp, seconds, seed)) do |line|
          yield if block_given? && line.chomp == BEGINS
        end
        self.class.parse(text)
      rescue Error => e
        raise Error, "#{e.message} (#{Process.last_status})"
      end

      # @param text [String] all of the program's output
      # @return [Outcome]
      def self.parse(text)
        result = text.lines.find { |line| line.start_with?(MARK) }
        faults = text.lines.grep(/\Aerror /).map { |line| line.chomp.delete_prefix("error ") }
        unless result
          fault = (faults.first || text.lines.last).to_s.strip[0, 200]
          raise Error, "the clients failed: #{fault}"
        end

        values = JSON.parse(result.delete_prefix(MARK)).transform_keys(&:to_sym)
        Outcome.new(**values, faults: faults)
      end

      private

      PLANNED = %i[clients rate stopped downloads check hangups].freeze
      private_constant :PLANNED

      def plan(load, entries, uri, ramp, seconds, seed)
        told = { server: "#{uri.host} #{uri.port}", fresh: load.fresh ? 1 : 0, sources: SOURCES,
                 processes: @processes, ramp: ramp, seconds: seconds, seed: seed,
                 type: FileSet::TYPE, **load.to_h.slice(*PLANNED) }
        files = entries.map { |entry| "file #{entry.disk} #{entry.url} #{entry.modified_text}" }
        "#{[*told.map { |pair| pair.join(" ") }, *files].join("\n")}\n"
      end
    end
  end
end
