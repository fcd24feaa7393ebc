# frozen_string_literal: true

module NeverBlock
  module Bench
    # Clients that send one request and stay connected: their number and path; `expects` is the end
    # of a response. Idle clients (`served`) get their responses one after the other. Others send at
    # once and are measured while they wait `wait_seconds` for the end. busy: number of wrk's
    # clients beside them; 0: none.
    HOLD_FIELDS = %i[clients path expects served wait_seconds busy].freeze
    private_constant :HOLD_FIELDS

    Hold = Struct.new(*HOLD_FIELDS, keyword_init: true) do
      def initialize(clients:, path: "/", expects: "Hello World", served: false, wait_seconds: 0,
                     busy: 0)
        super
        freeze
      end
    end

    # One run: a fresh server, a warm-up, then clients that stay. The server's memory is taken
    # before, during and after them.
    class MemoryMeasurement
      # Seconds after which memory is read, so that temporary memory has been returned.
      SETTLE_SECONDS = 5
      # Seconds for the responses of clients that do not wait.
      ANSWERS_SECONDS = 10
      BUSY_THREADS = 1
      # Result of the busy clients: responses a second, and microseconds of the server's CPU time
      # for each.
      Busy = Struct.new(:rate, :cpu_us)

      # @param load_generator [Wrk]
      # @param held [#hold] yields the clients (HeldClients)
      # @param pause [#call] sleeps for a number of seconds
      def initialize(load_generator: Wrk.new, held: HeldClients, pause: method(:sleep))
        @load_generator = load_generator
        @held = held
        @pause = pause
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is a Hold
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        hold = scenario.load
        seconds = scenario.seconds(settings)
        run_load(scenario.warmup, process, settings.warmup_seconds)
        alone = [busy(hold, process, seconds)]
        idle = settled(process)
        found = @held.hold(process.url) { |clients| beside(clients, hold, process, seconds) }
        alone << busy(hold, process, seconds)
        after = settled(process)
        raise Error, "the server ended under load: #{process.last_words}" unless process.alive?

        figures(found, hold, idle, after).merge(shares(found, alone.compact))
      end

      private

      # Measures while the clients stay.
      def beside(clients, hold, process, seconds)
        asked = clients.ask(hold.clients, hold.path, expects: (hold.expects if hold.served))
        at_once = hold.wait_seconds.zero?
        first = clients.answered(hold.expects, within: ANSWERS_SECONDS) if at_once
        rss = settled(process)
        open = clients.open
        busy = busy(hold, process, seconds)
        # They have waited SETTLE_SECONDS already; a second wave of responses comes later.
        last = clients.answered(hold.expects, within: hold.wait_seconds) unless first
        { asked: asked, answered: first || last, open: open, rss: rss, busy: busy }
      end

      def settled(process)
        @pause.call(SETTLE_SECONDS)
        process.tree.rss_bytes
      end

      def busy(hold, process, seconds)
        return if hold.busy.zero?

        before = process.tree.cpu_seconds
        load = Load.new(connections: hold.busy, threads: BUSY_THREADS)
        outcome = run_load(load, process, seconds)
        spent = process.tree.cpu_seconds - before
        Busy.new(outcome.rate, spent * 1e6 / [outcome.requests, 1].max)
      end

      def run_load(load, process, seconds)
        @load_generator.run(load, url: process.url, seconds: seconds)
      end

      def figures(found, hold, idle, after)
        growth = found[:rss] - idle
        served = [found[:answered], found[:open]].min
        missing = "it served #{served} of #{hold.clients} clients at once"
        {
          "clients" => found[:asked], "answered" => found[:answered], "open" => found[:open],
          "rss_idle_bytes" => idle, "rss_peak_bytes" => found[:rss],
          "rss_growth_bytes" => growth, "rss_left_bytes" => after - idle,
          "bytes_per_client" => served.zero? ? nil : (growth.to_f / served).round,
          "error_count" => hold.clients - served,
          "flags" => served == hold.clients ? [] : [missing]
        }
      end

      def shares(found, alone)
        return {} if alone.empty?

        rate, cpu_us = %i[rate cpu_us].map { |figure| alone.sum(&figure) / alone.size }
        beside = found[:busy]
        { "rate" => beside.rate.round(2), "rate_alone" => rate.round(2),
          "busy_share" => (beside.rate / rate).round(4),
          "cpu_us_per_request" => beside.cpu_us.round(3), "cpu_us_alone" => cpu_us.round(3) }
      end
    end
  end
end
