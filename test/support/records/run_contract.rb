# frozen_string_literal: true

# Runs the contract with one configuration and prints what it ended in, as JSON. In `plain` nothing
# of ours is loaded.
#
#   ruby run_contract.rb plain '{"adapter": "postgresql", ...}'            among threads
#   ruby run_contract.rb ours '{"adapter": "neverblock_postgresql", ...}'  among fibers, in NB.run

require "bundler/setup"
require "stringio"
require "timeout"
require_relative "contract"

# Several things at once.
module Threads
  def self.together(*works)
    works.map { |work| Thread.new { work.call } }.map(&:value)
  end
end

module Fibers
  def self.together(*works)
    found = Array.new(works.size)
    ended = Thread::Queue.new
    works.each_with_index do |work, number|
      Fiber.schedule do
        found[number] = work.call
      ensure
        ended << true
      end
    end
    works.each { ended.pop }
    found
  end
end

mode, configuration, only = ARGV
ActiveRecord.async_query_executor = :global_thread_pool
configuration = JSON.parse(configuration, symbolize_names: true)
contract = lambda do |crowd|
  RecordsContract.new(configuration, crowd).run(only).transform_values do |found|
    JSON.parse(JSON.generate([found.inspect]), max_nesting: false).first
  end
end

if mode == "ours"
  $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
  require "neverblock"
  found = nil
  NB.run { found = contract.call(Fibers) }
else
  found = contract.call(Threads)
end
puts JSON.generate(
  found.merge("version" => ActiveRecord::VERSION::STRING,
              "isolation" => ActiveSupport::IsolatedExecutionState.isolation_level)
)
