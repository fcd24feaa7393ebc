# frozen_string_literal: true

# The application of agents_test.rb: Rack with one agent, named by NB_AGENT, beside PostgreSQL and
# an HTTP service. It runs on Puma and on NeverBlock. Where ours has NB.all, threads that are handed
# the same on Puma do the work.

require "active_record"
require "json"
require "logger"
require "net/http"
require "pg"
require "rack"

module AppAgents
  SERVICE = URI("http://127.0.0.1:#{ENV.fetch("NB_AGENTS_SERVICE")}")
  SINK = URI(ENV.fetch("NB_AGENTS_SINK"))
  OURS = defined?(NeverBlock::Server)
  LOGGER = Logger.new(File.open(File::NULL, "w")) # by its name Logger would leave it out
  CONNECTIONS = 40 # each of 20 requests has two tasks
  WARMING = Mutex.new

  class Failure < StandardError
  end

  # What an agent's file under agents/ says where the gem differs from the next.
  class Agent
    def self.inherited(made)
      super
      AppAgents.agent = made
    end

    def identify(_id); end
    def note(_text); end
    def report(_error); end

    # @return what the block does, as a part of the current one
    def span(_name) = yield

    # @param application [#call]
    # @return [#call]
    def around(application) = application

    # Registers the way in which tasks get what the request has: NB.carry's.
    def carry; end
  end

  # NB.all and NB.offload, or threads that begin with what is carried.
  module Tasks
    @captures = []

    class << self
      def carry(name, &capture)
        OURS ? NB.carry(name, &capture) : @captures << capture
      end

      def all(*tasks)
        return NB.all(*tasks) if OURS

        tasks.map { |task| around(task) }.map { |task| Thread.new(&task) }.each(&:value)
      end

      # NB.offload, or a thread.
      def apart(&work) = OURS ? NB.offload(&work) : Thread.new(&around(work)).value

      private

      def around(task)
        @captures.inject(task) do |work, capture|
          carrier = capture.call
          carrier ? -> { carrier.call { work.call } } : work
        end
      end
    end
  end

  # A request: what each agent is to tell of it.
  class Work
    def initialize(agent, id)
      @agent = agent
      @id = id
    end

    # All requests of a round meet at the service at each `meet`.
    def call(fails:, reports:)
      @agent.identify(@id)
      @agent.note("begun #{@id}")
      fetch("meet-before")
      LOGGER.warn("logged #{@id}")
      @agent.span("query") { query("request") }
      @agent.span("parts") { Tasks.all(*Array.new(2) { |n| -> { part(n, reports) } }) }
      @agent.span("apart") { Tasks.apart { part(2, false) } }
      @agent.note("parted #{@id}")
      fetch("after")
      raise Failure, "failed #{@id}" if fails
    end

    private

    def part(number, reports)
      @agent.span("part #{number}") do
        @agent.note("part #{number} #{@id}")
        fetch("meet-part-#{number}")
        query("part #{number}")
        @agent.report(failure("reported #{@id}")) if reports && number == 1
      end
    end

    def failure(text)
      raise Failure, text
    rescue Failure => e
      e
    end

    def fetch(label)
      Net::HTTP.start(SERVICE.host, SERVICE.port) { |http| http.get("/#{@id}/#{label}").body }
    end

    def query(label)
      ActiveRecord::Base.with_connection do |connection|
        found = connection.select_value("select '#{label} #{@id}', pg_sleep(0.001)::text")
        raise "#{found} for #{label} #{@id}" unless found == "#{label} #{@id}"
      end
    end
  end

  class << self
    attr_accessor :agent

    # @return [#call]
    def application
      connect
      agent = self.agent.new
      agent.carry
      watched = agent.around(->(env) { answer(agent, env) })
      lambda do |env|
        case env["PATH_INFO"]
        when "/" then [200, {}, ["there"]]
        when "/hog" then [200, {}, [burn]]
        when "/warm" then [200, {}, [warm]]
        else told { watched.call(env) }
        end
      end
    end

    private

    # Paths are /WORD/ID; the word says what goes wrong.
    def answer(agent, env)
      word, id = env["PATH_INFO"].split("/").last(2)
      Work.new(agent, id).call(fails: word == "fails", reports: word == "reports")
      [200, {}, ["done"]]
    end

    def told
      yield
    rescue Failure
      [500, {}, ["failed"]]
    rescue StandardError => e
      warn(e.full_message(highlight: false))
      raise
    end

    def connect
      address = ENV.fetch("NB_AGENTS_DATABASE").sub(/pool=\d+/, "pool=#{CONNECTIONS}")
      ActiveRecord::Base.establish_connection("#{address}&prepared_statements=false")
    end

    # Agents tell what a new connection asks.
    def warm
      WARMING.synchronize do
        pool = ActiveRecord::Base.connection_pool
        taken = Array.new(CONNECTIONS) { pool.checkout.tap { |one| one.select_value("select 1") } }
        taken.each { |connection| pool.checkin(connection) }
      end
      Process.pid.to_s
    end

    def burn
      until_s = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.2
      Integer.sqrt(12_345) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_s
      "burnt"
    end
  end
end

require_relative "agents/#{ENV.fetch("NB_AGENT")}"
