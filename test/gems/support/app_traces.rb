# frozen_string_literal: true

# The application of traces_test.rb: Rails with OpenTelemetry's own instrumentation and an exporter
# into a file that all processes share, beside PostgreSQL, MariaDB, Redis and an HTTP service. Each
# action is one way in which work comes to another fiber or thread. It runs on Puma and on
# NeverBlock; what Puma has no verb for is called there as it stands.

require "json"
require "logger"
require "net/http"
require "timeout"
require "tmpdir"

ENV["OTEL_TRACES_EXPORTER"] = "none"

require "rails"
require "action_controller/railtie"
require "active_record/railtie"
require "concurrent"
require "faraday"
require "mysql2"
require "opentelemetry/sdk"
require "opentelemetry-instrumentation-concurrent_ruby"
require "opentelemetry-instrumentation-faraday"
require "opentelemetry-instrumentation-mysql2"
require "opentelemetry-instrumentation-net_http"
require "opentelemetry-instrumentation-pg"
require "opentelemetry-instrumentation-rack"
require "opentelemetry-instrumentation-rails"
require "opentelemetry-instrumentation-redis"
require "opentelemetry-instrumentation-trilogy"
require "pg"
require "redis"
require "trilogy"

module AppTraces
  SERVICE = URI("http://127.0.0.1:#{ENV.fetch("NB_TRACES_SERVICE")}")
  DATABASE = ENV.fetch("NB_TRACES_DATABASE")
  MYSQL = { host: "127.0.0.1", port: Integer(ENV.fetch("NB_TRACES_MYSQL")), username: "root",
            database: "test" }.freeze
  REDIS = Integer(ENV.fetch("NB_TRACES_REDIS"))
  SPANS = ENV.fetch("NB_TRACES_SPANS")

  # A span a line, written at once.
  class Exporter
    SUCCESS = OpenTelemetry::SDK::Trace::Export::SUCCESS

    def initialize(path)
      @file = File.open(path, File::WRONLY | File::APPEND | File::CREAT)
      @file.sync = true
    end

    def export(spans, **)
      spans.each { |span| @file.syswrite("#{JSON.generate(AppTraces.about(span))}\n") }
      SUCCESS
    end

    def force_flush(**) = SUCCESS
    def shutdown(**) = SUCCESS
  end

  OpenTelemetry::SDK.configure do |config|
    processor = OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(Exporter.new(SPANS))
    config.add_span_processor(processor)
    config.use_all("OpenTelemetry::Instrumentation::PG" => { db_statement: :include })
  end
  TRACER = OpenTelemetry.tracer_provider.tracer("traces")

  # What a server with threads has instead of NB's verbs.
  module InOrder
    module_function

    def all(*tasks) = tasks.map(&:call)
    def scheduled(*tasks) = all(*tasks)
    def pooled(*tasks) = all(*tasks)
    def offload = yield
    def deadline(_seconds) = yield
  end

  module Verbs
    module_function

    def all(*tasks) = NB.all(*tasks)
    def offload(&block) = NB.offload(&block)
    def deadline(seconds, &block) = NB.deadline(seconds, &block)

    def scheduled(*tasks)
      NB.run { ended { |done| tasks.each { |task| Fiber.schedule { task.call && done << 1 } } } }
    end

    # The second task waits in the queue.
    def pooled(*tasks)
      pool = NB::FiberPool.new(1)
      ended { |done| tasks.each { |task| pool.spawn { task.call && done << 1 } } }
    end

    def ended
      done = Queue.new
      yield(done)
      2.times { done.pop }
    end
  end
  VERBS = defined?(NeverBlock::Server) ? Verbs : InOrder

  # What actions do.
  module Steps
    module_function

    def span(name, &block) = TRACER.in_span(name, &block)

    def fetch(id, label)
      Net::HTTP.start(SERVICE.host, SERVICE.port) { |http| http.get("/#{id}/#{label}").body }
    end

    def step(id, label)
      span("step #{label}") { fetch(id, label) }
    end

    # @return [Array<Proc>] two pieces of work
    def tasks(id, label)
      Array.new(2) { |n| -> { step(id, "#{label}-#{n}") } }
    end

    def postgresql(id)
      connection = PG.connect(DATABASE.sub(/[?&]pool=.*/, ""))
      connection.exec_params("select $1::text, pg_sleep(0.002)", [id])
    ensure
      connection&.close
    end

    def mysql2(id)
      client = Mysql2::Client.new(**MYSQL)
      client.query("select '#{id}', sleep(0.002)").to_a
      client.prepare("select ?").execute(id).to_a
    ensure
      client&.close
    end

    def trilogy(id)
      client = Trilogy.new(MYSQL.dup)
      client.query("select '#{id}', sleep(0.002)").to_a
    ensure
      client&.close
    end

    def redis(id)
      client = Redis.new(host: "127.0.0.1", port: REDIS)
      client.set(id, "1")
      client.pipelined { |pipeline| 2.times { pipeline.get(id) } }
    ensure
      client&.close
    end
  end

  # One action a method; each is given the request's own word.
  module Actions
    module_function

    extend Steps

    def records(id)
      Item.transaction do
        Item.create!(name: id)
        step(id, "records")
        Item.where(name: id).pluck(:name)
      end
    end

    def drivers(id)
      %i[postgresql mysql2 trilogy redis].each { |name| span(name.to_s) { Steps.send(name, id) } }
    end

    def http(id)
      fetch(id, "plain")
      Faraday.get("#{SERVICE}/#{id}/faraday").body
    end

    def enumerator(id)
      values = Enumerator.new { |y| 2.times { |n| y << step(id, "enumerator-#{n}") } }
      values.next
      step(id, "between")
      values.next
      [1, 2].lazy.map { |n| step(id, "lazy-#{n}") }.first(1)
    end

    def fiber(id)
      Fiber.new { step(id, "fiber") }.resume
      step(id, "after")
    end

    def thread(id)
      Thread.new { step(id, "thread") }.join
      context = OpenTelemetry::Context.current
      Thread.new { OpenTelemetry::Context.with_current(context) { step(id, "given") } }.join
      step(id, "after")
    end

    def future(id)
      span("future") { Concurrent::Promises.future { step(id, "future") }.value! }
      Concurrent::Future.execute { step(id, "old") }.value
    end

    def timeout(id)
      Timeout.timeout(60) { step(id, "timeout") }
    end

    def all(id)
      span("all") { VERBS.all(*tasks(id, "all")) }
      step(id, "after")
    end

    def run(id)
      span("run") { VERBS.scheduled(*tasks(id, "run")) }
      step(id, "after")
    end

    def pool(id)
      span("pool") { VERBS.pooled(*tasks(id, "pool")) }
      step(id, "after")
    end

    def deadline(id)
      span("deadline") { VERBS.deadline(60) { step(id, "deadline") } }
    end

    def offload(id)
      span("offload") { VERBS.offload { step(id, "offload") } }
      step(id, "after")
    end

    # The request of the issue: NB.all, threads and NB.offload in one another.
    def nested(id)
      span("nested") do
        VERBS.all(
          -> { span("left") { VERBS.offload { step(id, "left") } } },
          -> { span("right") { VERBS.all(*tasks(id, "right")) } },
          -> { span("thread") { Thread.new { step(id, "inner") }.join } },
          -> { span("database") { Steps.mysql2(id) } }
        )
      end
      VERBS.offload { VERBS.deadline(60) { step(id, "last") } }
    end
  end

  # Answers that are made while they are sent, and connections that are taken over.
  module Bodies
    module_function

    extend Steps

    def stream(id, _env)
      [200, {}, Enumerator.new { |y| 2.times { |n| y << step(id, "stream-#{n}") } }]
    end

    def finished(id, env)
      env["rack.response_finished"] << lambda do |*|
        step(id, "finished")
      end
      [200, {}, [step(id, "body")]]
    end

    def partial(id, _env)
      take = lambda do |out|
        out.write(step(id, "partial"))
        out.close
      end
      [200, { "connection" => "close", "rack.hijack" => take }, []]
    end

    def hijack(id, env)
      step(id, "before")
      out = env["rack.hijack"].call
      text = step(id, "hijack")
      out.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: #{text.bytesize}\r\n\r\n" \
                "#{text}")
      out.close
      [200, {}, []]
    end
  end

  # Puma says nothing of an error in production.
  def self.told
    yield
  rescue StandardError => e
    warn(e.full_message(highlight: false))
    raise
  end

  # @return [#call]
  def self.application
    application = rails
    lambda do |env|
      case env["PATH_INFO"]
      when "/" then [200, {}, ["there"]]
      when "/hog" then [200, {}, [burn]]
      else told { application.call(env) }
      end
    end
  end

  def self.burn
    until_s = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.2
    Integer.sqrt(12_345) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_s
    "burnt"
  end

  # @return [Hash] of a span that has ended
  def self.about(span)
    said = span.attributes.to_h
    { process: Process.pid, trace: span.hex_trace_id, id: span.hex_span_id,
      parent: span.hex_parent_span_id, name: span.name, kind: span.kind,
      scope: span.instrumentation_scope.name, path: path_in(said),
      statement: said["db.statement"] || said["db.query.text"] }
  end

  def self.path_in(said)
    said.values_at("http.target", "url.path", "http.url", "url.full").compact.first
        &.delete_prefix(SERVICE.to_s)
  end

  def self.rails
    ENV["DATABASE_URL"] = "#{DATABASE}&prepared_statements=false"
    made = Class.new(Rails::Application)
    Object.const_set(:TracesApplication, made)
    configure(made.config)
    made.initialize!
    routes(made)
    define_records
    made
  end

  def self.configure(config)
    config.root = Dir.mktmpdir("traces")
    config.eager_load = true
    config.hosts.clear
    config.secret_key_base = "x" * 64
    config.consider_all_requests_local = true
    config.action_dispatch.show_exceptions = :none
    config.logger = Logger.new($stderr, level: Logger::FATAL)
    config.log_level = :fatal
    config.load_defaults(7.2)
  end

  # A row for each request.
  def self.define_records
    ActiveRecord::Schema.verbose = false
    ActiveRecord::Schema.define { create_table(:items, force: true) { |t| t.string(:name) } }
    Object.const_set(:Item, Class.new(ActiveRecord::Base) { self.table_name = "items" })
    Item.create!(name: "the first one asks for the columns")
  end

  def self.routes(application)
    application.routes.draw do
      Actions.singleton_methods(false).each { |name| get("/#{name}/:id", to: "traces##{name}") }
      get("/live/:id", to: "live_traces#live")
      (Bodies.singleton_methods(false) - Steps.instance_methods).each do |name|
        get("/#{name}/:id", to: lambda { |env|
          Bodies.send(name, env["action_dispatch.request.path_parameters"][:id], env)
        })
      end
    end
  end
end

class TracesController < ActionController::Base
  AppTraces::Actions.singleton_methods(false).each do |name|
    define_method(name) do
      AppTraces::Actions.send(name, params[:id])
      render(plain: "done")
    end
  end
end

class LiveTracesController < ActionController::Base
  include ActionController::Live

  def live
    response.stream.write(AppTraces::Steps.step(params[:id], "live"))
  ensure
    response.stream.close
  end
end
