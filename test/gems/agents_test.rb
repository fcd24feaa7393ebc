# frozen_string_literal: true

# Tests what monitoring agents send. Three times 20 requests at once, all inside at the same time,
# beside requests that compute past their time slices. Each reads PostgreSQL, calls an HTTP service
# and has a part that NB.all runs; some fail. What each agent has sent of a request to a service of
# the test's own is what it sends on Puma's threads: as many messages, the same tree, nothing of
# another request. So in one process, and with two workers.

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
require "support/self_signed_certificate"
require "support/services"
require "gems/support/agent_messages"
require "gems/support/agent_sink"

class AgentsTest < Minitest::Test
  AT_ONCE = 20
  ROUNDS = 3
  AGENTS = %w[sentry datadog new_relic elastic scout honeybadger bugsnag rollbar
              mini_profiler].freeze
  CALLS = 5 # of the service, in each request
  BUNDLE = GemBundle.new(File.expand_path("agents.gemfile", __dir__),
                         "bundle-agents-#{RUBY_VERSION}")
  APP = <<~RACKUP
    require "#{File.expand_path("support/app_agents", __dir__)}"
    run AppAgents.application
  RACKUP

  # Lets nobody of a round go on before all are there.
  class Service < OnThreads::Service
    def initialize(at_once)
      @at_once = at_once
      @waiting = Hash.new { |all, step| all[step] = Queue.new }
      @carried = Queue.new
      super()
    end

    # @return [Array<Array(String, Hash)>] paths and the headers of each call
    def carried = Array.new(@carried.size) { @carried.pop }

    private

    def answer(client, path, headers)
      @carried << [path, headers]
      meet(path) if path.include?("/meet-")
      super
    end

    # The one that completes a round lets the others go.
    def meet(path)
      mine = Queue.new
      round = LOCK.synchronize { arrived(path[/meet-.*/], mine) }
      round&.each { |other| other << true }
      Patience.await("all at #{path}") { !mine.empty? }
    end

    LOCK = Mutex.new
    private_constant :LOCK

    def arrived(step, mine)
      @waiting[step] << mine
      return if @waiting[step].size < @at_once

      Array.new(@at_once) { @waiting[step].pop }
    end
  end

  # One request, and the trace that it belongs to.
  Question = Struct.new(:word, :id, :trace, :parent) do
    def self.numbered(number)
      word = { 0 => "fails", 1 => "reports" }.fetch(number % 5, "works")
      new(word, "q#{SecureRandom.hex(6)}", SecureRandom.hex(16), SecureRandom.hex(8))
    end

    def path = "/#{word}/#{id}"
    def status = word == "fails" ? "500" : "200"

    def headers
      { "traceparent" => "00-#{trace}-#{parent}-01", "sentry-trace" => "#{trace}-#{parent}-1" }
    end
  end

  BUNDLE.env # the first time takes longer than a test may

  class << self
    # @return [AgentMessages::Found] of a server of that kind, by agent
    def found(agent, kind)
      FOUND[[agent, kind]] ||= begin
        ask_all(agent, kind)
      rescue StandardError => e
        e # what has failed is not tried again
      end
      FOUND[[agent, kind]].tap { |found| raise found if found.is_a?(StandardError) }
    end

    private

    def ask_all(agent, kind)
      service = Service.new(AT_ONCE)
      sink = AgentSink.new((CERTIFICATE if agent == "new_relic"))
      server = start(agent, kind, service, sink)
      warm(server, kind == :workers ? 2 : 1)
      questions = beside_hogs(server) { Array.new(ROUNDS) { at_once(server) }.flatten }
      server.stop(expect: (0 unless kind == :puma))
      AgentMessages.read(agent, sink.messages, questions, service.carried, BUNDLE.env)
    ensure
      server&.kill
      sink&.close
    end

    def start(agent, kind, service, sink)
      env = BUNDLE.env.merge(
        "NB_AGENT" => agent, "NB_AGENTS_SINK" => sink.url, "NB_AGENTS_AUTHORITY" => authority,
        "NB_AGENTS_SERVICE" => service.port.to_s, "NB_AGENTS_DATABASE" => OnThreads::Databases.url,
        "RACK_ENV" => "production"
      )
      OnThreads::Server.new(kind, APP, clients: AT_ONCE + 2, env: env).start
    end

    def authority
      @authority ||= begin
        folder = Dir.mktmpdir("agents")
        Minitest.after_run { FileUtils.remove_entry(folder) }
        File.join(folder, "authority.pem").tap { |path| File.write(path, CERTIFICATE.pem) }
      end
    end

    # @param processes [Integer] that have all their connections
    def warm(server, processes)
      warm = []
      Patience.await("#{processes} warm") do
        warm |= Array.new(2) { Thread.new { get(server, "/warm").body } }.map(&:value)
        warm.grep(/\A\d+\z/).size == processes
      end
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
    def at_once(server)
      questions = Array.new(AT_ONCE) { |number| Question.numbered(number) }
      wrong = questions.map { |question| Thread.new { answer(server, question) } }
                       .filter_map(&:value)
      raise "#{wrong.first}\n#{server.stderr.lines.last(20).join}" unless wrong.empty?

      questions
    end

    # @return [String, nil] what is wrong with the answer
    def answer(server, question)
      response = get(server, question.path, question.headers)
      "#{question.path}: #{response.code} #{response.body}" if response.code != question.status
    rescue SystemCallError, IOError, Timeout::Error => e
      "#{question.path}: #{e.class}: #{e.message}"
    end

    def get(server, path, headers = {})
      address = URI(server.url)
      Net::HTTP.start(address.host, address.port, read_timeout: Patience::SECONDS) do |http|
        http.get(path, headers)
      end
    end
  end
  CERTIFICATE = SelfSignedCertificate.new
  FOUND = {} # by agent and kind of server
  private_constant :FOUND

  AGENTS.each do |agent|
    { hogs: "one process", workers: "two workers" }.each do |kind, words|
      define_method("test_#{agent}_sends_from_#{words.tr(" ", "_")}_what_it_sends_on_threads") do
        compare(self.class.found(agent, :puma), self.class.found(agent, kind))
      end
    end
  end

  private

  def compare(wanted, seen)
    assert_empty seen.mixed
    assert_empty seen.astray
    assert_empty seen.alone
    assert_equal AT_ONCE * ROUNDS * CALLS, seen.calls
    wanted.trees.each do |word, trees|
      seen.trees.fetch(word).each { |tree| assert_equal usual(trees), tree, word }
    end
    refute_empty usual(wanted.trees.fetch("reports"))
  end

  # New Relic's agent mixes paths of two requests on threads too (compat/new_relic.rb), seldom.
  def usual(trees)
    trees.tally.max_by(&:last).first
  end
end
