# frozen_string_literal: true

require_relative "../support/unit"
require_relative "workload"

# Tests that one server process stays as it is through a minute of every exchange in every mixture.
# NB_SOAK_SECONDS and NB_SOAK_SEED change the run.
class SoakTest < Minitest::Test
  CLIENTS = 8
  SECONDS = Integer(ENV.fetch("NB_SOAK_SECONDS", "60"), 10)
  SEED = Integer(ENV.fetch("NB_SOAK_SEED", Random.new_seed.to_s), 10)
  # KB more at the end than after the first sixth. Collections, malloc's arenas and pooled fibers
  # account for less than this.
  GROWTH_KB = 24 * 1024
  EXPECTED = Regexp.union(
    /failed: (?:Workload::App::Failure|NeverBlock::Error|Errno::(?:EPIPE|ECONNRESET))/,
    /GET \/keeping \(\w+\) (?:has )?kept its executor/, /^\s|spool|^$/
  )

  [1, 2].each do |executors|
    define_method("test_memory_and_descriptors_stay_with_#{executors}_executors") do
      soak(executors)
    end
  end

  private

  def soak(executors)
    puts "seed #{SEED}, #{SECONDS} s"
    server = Workload::Process.new(env: { "NB_WORKLOAD_EXECUTORS" => executors.to_s })
    counts = run_for(server, SECONDS / 12.0, 0)
    settle(server, descriptors = server.descriptors)
    before = server.rss_kb
    counts = run_for(server, SECONDS / 2.0 * 5 / 6, 1).merge(counts) { |_, one, other| one + other }
    settle(server, descriptors)
    puts "#{executors} executors: #{counts.values.sum} exchanges, #{before} KB before, " \
         "#{server.rss_kb} KB after, #{server.descriptors} descriptors"
    assert_operator server.rss_kb, :<, before + GROWTH_KB
    assert_operator server.descriptors, :<=, descriptors + 2
    assert_predicate server.stop, :success?, server.log[-4000..] || server.log
    assert_equal [], server.log.lines.grep_v(EXPECTED).first(5)
  end

  # What clients that left have left behind takes a moment to be seen.
  def settle(server, descriptors)
    5.times do
      Workload.exchange(server.url, :parked, Random.new(0))
      break if server.descriptors <= descriptors
    end
  end

  def run_for(server, seconds, part)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    threads = Array.new(CLIENTS) do |number|
      Thread.new do
        rng = Random.new(SEED + (CLIENTS * part) + number)
        counts = Hash.new(0)
        while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
          name = Workload::NAMES.sample(random: rng)
          Workload.exchange(server.url, name, rng)
          counts[name] += 1
        end
        counts
      end
    end
    threads.map(&:value).reduce { |sum, counts| sum.merge(counts) { |_, one, other| one + other } }
  end
end
