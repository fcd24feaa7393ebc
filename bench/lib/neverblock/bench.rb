# frozen_string_literal: true

# The benchmark runner of `neverblock bench`: starts each server fresh, loads it with wrk, and
# compares its results with those of other servers. It loads without the native extension, so that
# the others can be measured where NeverBlock is not built.
require "neverblock/errors"

module NeverBlock
  # Runs the claims under benchmark/ and reports medians, spread, CPU a request and verdicts.
  module Bench
    # A benchmark cannot continue. The message tells what was found and how to mend it.
    class Error < NeverBlock::Error; end

    CHECKOUT = File.expand_path("../../..", __dir__)
    private_constant :CHECKOUT
    # The checkout of this file; for an installed gem, the folder where the command was started.
    # @return [String] the folder that holds benchmark/ and exe/
    ROOT = (File.directory?(File.join(CHECKOUT, "benchmark/peers")) ? CHECKOUT : Dir.pwd).freeze
  end
end

require_relative "bench/statistics"
require_relative "bench/rotation"
require_relative "bench/process_tree"
require_relative "bench/memory_watch"
require_relative "bench/machine"
require_relative "bench/child"
require_relative "bench/wrk"
require_relative "bench/h2load"
require_relative "bench/handshakes"
require_relative "bench/port"
require_relative "bench/environment"
require_relative "bench/bundle"
require_relative "bench/server"
require_relative "bench/servers"
require_relative "bench/server_process"
require_relative "bench/cores"
require_relative "bench/program"
require_relative "bench/program_host"
require_relative "bench/scenario"
require_relative "bench/claim"
require_relative "bench/database_claim"
require_relative "bench/catalog"
require_relative "bench/results"
require_relative "bench/table"
require_relative "bench/report"
require_relative "bench/plot"
require_relative "bench/figures"
require_relative "bench/difference"
require_relative "bench/reading"
require_relative "bench/comparison"
require_relative "bench/page"
require_relative "bench/collection"
require_relative "bench/progress"
require_relative "bench/time_left"
require_relative "bench/plan"
require_relative "bench/flags"
require_relative "bench/measurement"
require_relative "bench/program_measurement"
require_relative "bench/queue_model"
require_relative "bench/c_program"
require_relative "bench/open_loop"
require_relative "bench/beside_download"
require_relative "bench/stopper"
require_relative "bench/repeated_request"
require_relative "bench/open_measurement"
require_relative "bench/held_clients"
require_relative "bench/memory_measurement"
require_relative "bench/file_set"
require_relative "bench/file_servers"
require_relative "bench/file_claim"
require_relative "bench/tls_servers"
require_relative "bench/download_clients"
require_relative "bench/download_measurement"
require_relative "bench/throttled_folder"
require_relative "bench/cold_measurement"
require_relative "bench/stall_servers"
require_relative "bench/company_measurement"
require_relative "bench/paced_requests"
require_relative "bench/work_turns_measurement"
require_relative "bench/share_measurement"
require_relative "bench/wrk_turns"
require_relative "bench/turns_measurement"
require_relative "bench/journal"
require_relative "bench/runner"
require_relative "bench/session"
