# frozen_string_literal: true

# The contract of contract.rb, run with each of ActiveRecord's adapters and with ours, in processes
# of their own: whatever theirs does, ours does.

require "json"
require "minitest/autorun"
require "mysql2"
require "open3"
require "pg"
require "rbconfig"
require_relative "../services"

class RecordsComparison < Minitest::Test
  PROGRAM = File.expand_path("run_contract.rb", __dir__)
  ADAPTERS = {
    "postgresql" => {},
    "mysql2" => {},
    "trilogy" => {},
    "mysql2 with prepared statements" => { prepared_statements: true }
  }.freeze
  # With prepared statements mysql2 itself crashes when a connection that was cut, or that still has
  # statements, is closed, and when a result has no rows (0.5.7, Ruby 3.1).
  ONLY = {
    "mysql2 with prepared statements" => "rows|types|prepared|transactions|savepoints|insert_all|" \
                                         "batches|deadlock|on_any_(errors|pool|load_async)$|" \
                                         "async_(values|relations|events)$"
  }.freeze
  MODES = { "plain" => "", "ours" => "neverblock_" }.freeze
  SECONDS = 240

  class << self
    # Defines one test for each adapter.
    # @param version [String] of ActiveRecord, its beginning
    # @yieldreturn [Hash{String => String, nil}] the environment that has it
    def compares(version, adapters: ADAPTERS, &environment)
      define_method(:environment, &environment)
      adapters.each do |name, further|
        define_method("test_ours_does_what_activerecord_#{version}_does with #{name}") do
          compare(version, name.split.first, further, ONLY[name])
        end
      end
    end
  end

  private

  def compare(version, adapter, further, only)
    Services.postgresql && Services.mariadb # before threads ask
    plain, ours = MODES.map do |mode, prefix|
      Thread.new { run_contract(mode, "#{prefix}#{adapter}", further, only) }
    end.map(&:value)

    assert_operator plain.size, :>, only ? 10 : 30
    assert_equal %w[thread fiber], [plain, ours].map { |found| found.delete("isolation") }
    assert_match(/\A#{Regexp.escape(version)}\./, plain["version"])
    refute_match(/"NameError"|"NoMethodError"/, plain.values.join, "a scenario that has not run")
    plain.each { |scenario, found| assert_equal found, ours[scenario], "#{adapter}: #{scenario}" }

    assert_equal plain.keys, ours.keys
  end

  # @return [Hash{String => String}] what each scenario ended in
  def run_contract(mode, adapter, further, only)
    database = "records_#{mode}"
    configuration = { adapter: adapter, database: database, pool: 10,
                      **place(adapter, database), **further }
    output, errors, status = Open3.capture3(
      environment, "timeout", SECONDS.to_s, RbConfig.ruby, PROGRAM, mode,
      JSON.generate(configuration), *only
    )
    unless status.success?
      raise "#{mode} ended with #{status.inspect}: #{errors[-3000..] || errors}"
    end

    JSON.parse(output).transform_values { |found| found.gsub(database, "records") }
  end

  # A database of its own.
  def place(adapter, database)
    if adapter.end_with?("postgresql")
      server = Services.postgresql
      client = PG.connect(host: server.host, port: server.port, user: "postgres",
                          dbname: "postgres", options: "-c client_min_messages=error")
      make(client, :exec, database, "")
      return { host: server.host, port: server.port, username: "postgres" }
    end
    server = Services.mariadb
    client = Mysql2::Client.new(host: server.host, port: server.port, username: "root")
    make(client, :query, database, "DEFAULT CHARSET utf8mb4")
    { host: server.host, port: server.port, username: "root" }
  end

  def make(client, verb, database, options)
    client.public_send(verb, "DROP DATABASE IF EXISTS #{database}")
    client.public_send(verb, "CREATE DATABASE #{database} #{options}")
  ensure
    client.close
  end
end
