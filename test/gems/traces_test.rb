# frozen_string_literal: true

# Tests OpenTelemetry's own gems. 20 requests at once, each with a traceparent of its own, beside
# requests that compute past their time slices. What each has exported is compared with what Puma's
# threads have: which span has which parent, none of another request, none lost. Each call of a
# service carries the id of the span that made it. So in one process, and with two workers.

require "test_helper"
require "fileutils"
require "json"
require "net/http"
require "securerandom"
require "tmpdir"
require "support/gem_bundle"
require "support/on_threads/databases"
require "support/on_threads/server"
require "support/on_threads/service"
require "support/plain_http"
require "support/services"
require "gems/support/span_tree"

class TracesTest < Minitest::Test
  AT_ONCE = 20
  ROUNDS = 2
  NAMES = %w[records drivers http enumerator fiber thread future timeout all run pool deadline
             offload nested live stream finished partial hijack].freeze
  BUNDLE = GemBundle.new(File.expand_path("traces.gemfile", __dir__),
                         "bundle-traces-#{RUBY_VERSION}")
  APP = <<~RACKUP
    require "#{File.expand_path("support/app_traces", __dir__)}"
    run AppTraces.application
  RACKUP

  # Remembers what calls of it carried.
  class Service < OnThreads::Service
    def initialize
      @carried = Queue.new
      super
    end

    # @return [Array<Array(String, String)>] paths and their traceparent, since it was last asked
    def carried = Array.new(@carried.size) { @carried.pop }

    private

    def answer(client, path, headers)
      @carried << [path, headers["traceparent"]]
      super
    end
  end

  # One question and what it brings with it.
  Question = Struct.new(:name, :id, :trace, :parent) do
    def self.new_of(name)
      new(name, "q#{SecureRandom.hex(6)}", SecureRandom.hex(16), SecureRandom.hex(8))
    end

    def traceparent = "00-#{trace}-#{parent}-01"
  end

  # What one server made of all questions.
  Found = Struct.new(:trees, :wrong, :processes, keyword_init: true)

  BUNDLE.env # the first time takes longer than a test may

  class << self
    # @return [Hash{String => Object}] the tree of each action, on threads
    def wanted
      once { @wanted ||= ask_all(:puma).tap { |found| check_steady(found) } }
    end

    # @return [Found] of ours
    def found
      once { @found ||= ask_all(kind, wanted.trees.transform_values(&:first)) }
    end

    # @return [Symbol] of OnThreads::Server
    def kind = :hogs

    private

    # What has failed is not tried for each test.
    def once
      raise @failed if @failed

      yield
    rescue StandardError => e
      raise @failed = e
    end

    def check_steady(found)
      unsteady = found.trees.transform_values(&:uniq).select { |_, trees| trees.size > 1 }
      said = unsteady.map { |name, trees| [name, *trees.first(2)].join("\n") }
      raise "on threads requests differ:\n#{said.join("\n")}" unless said.empty?
    end

    def ask_all(kind, wanted = nil)
      service = Service.new
      server = start(kind, service)
      questions = beside_hogs(server) do
        NAMES.flat_map { |name| Array.new(ROUNDS) { at_once(server, name) } }.flatten
      end
      settled(service, questions, wanted)
    ensure
      server&.stop(expect: (0 unless kind == :puma))
    end

    def start(kind, service)
      @spans = File.join(folder = Dir.mktmpdir("traces"), "spans")
      Minitest.after_run { FileUtils.remove_entry(folder) }
      env = BUNDLE.env.merge(
        "NB_TRACES_SPANS" => @spans,
        "NB_TRACES_SERVICE" => service.port.to_s, "NB_TRACES_DATABASE" => OnThreads::Databases.url,
        "NB_TRACES_MYSQL" => Services.mariadb.port.to_s,
        "NB_TRACES_REDIS" => Services.redis.port.to_s,
        "RACK_ENV" => "production", "RAILS_ENV" => "production", "RAILS_MAX_THREADS" => "32"
      )
      OnThreads::Server.new(kind, APP, clients: AT_ONCE + 2, env: env).start
    end

    def beside_hogs(server)
      over = false
      hogs = Array.new(server.hogs) { Thread.new { get(server, "/hog") until over } }
      yield
    ensure
      over = true
      hogs.each(&:join)
    end

    # @return [Array<Question>] answered
    def at_once(server, name)
      questions = Array.new(AT_ONCE) { Question.new_of(name) }
      wrong = questions.map { |question| Thread.new { answer(server, question) } }
                       .filter_map(&:value)
      raise "#{wrong.first}\n#{server.stderr.lines.last(20).join}" unless wrong.empty?

      questions
    end

    # @return [String, nil] what is wrong with the answer
    def answer(server, question)
      path = "/#{question.name}/#{question.id}"
      response = get(server, path, "traceparent" => question.traceparent)
      "#{path}: #{response.code} #{response.body}" unless response.code == "200"
    rescue SystemCallError, IOError, Timeout::Error => e
      "#{path}: #{e.class}: #{e.message}"
    end

    def get(server, path, headers = {})
      address = URI(server.url)
      Net::HTTP.start(address.host, address.port, read_timeout: Patience::SECONDS) do |http|
        http.get(path, headers)
      end
    end

    # Spans of a request may end after its answer has left. They are there once all are as wanted.
    def settled(service, questions, wanted)
      limit = Patience::Limit.new(wanted ? 20 : 10)
      carried = service.carried
      loop do
        spans = File.readlines(@spans).map { |line| JSON.parse(line) }
        forest = SpanTree::Forest.new(spans)
        trees = questions.group_by(&:name).transform_values do |asked|
          asked.map { |question| forest.of(question) }
        end
        if limit.over? || complete?(trees, wanted)
          return Found.new(trees: trees, wrong: forest.wrong(carried),
                           processes: spans.map { |span| span["process"] }.uniq)
        end

        sleep 0.1
      end
    end

    def complete?(trees, wanted)
      trees.all? { |name, found| found.uniq == [wanted ? wanted[name] : found.first] } &&
        trees.values.flatten.none?(&:empty?)
    end
  end

  NAMES.each do |name|
    define_method("test_#{name}_has_the_spans_that_it_has_on_threads") do
      wanted = self.class.wanted.trees.fetch(name).first
      refute_empty wanted
      found = self.class.found.trees.fetch(name)
      assert_equal AT_ONCE * ROUNDS, found.size
      found.each { |tree| assert_equal wanted, tree }
    end
  end

  def test_each_call_of_the_service_carries_the_span_that_made_it
    [self.class.wanted, self.class.found].each { |found| assert_empty found.wrong }
  end
end

# What a worker's fibers and threads hand on is the same in each worker.
class TracesOfWorkersTest < TracesTest
  class << self
    def wanted = TracesTest.wanted
    def kind = :workers
  end

  # The mold, which has loaded the application, is the third.
  def test_both_workers_have_answered
    assert_includes [2, 3], self.class.found.processes.size
  end
end
