# frozen_string_literal: true

module NeverBlock
  module Bench
    # Clients that ask once and stay: how many, for what; `expects` is what an answer ends with. Idle ones (`served`) have theirs one after the other,
    # others ask at once and are measured while they wait `wait_seconds` for the end. busy: clients of wrk beside them, 0: none.
    Hold = Struct.new(:clients, :path, :expects, :served, :wait_seconds, :busy, keyword_init: true) do
      def initialize(clients:, path: "/", expects: "Hello World", served: false, wait_seconds: 0, busy: 0)
        super
        freeze
      end
    end

    # One run: a fresh server, a warm-up, then clients that stay, with the server's memory before, beside and after them.
    class MemoryMeasurement
      # Issue 5 measures growth after so long: what a burst took and is not needed has gone back.
      SETTLE_SECONDS = 5
      # For the answers of those that do not wait.
      ANSWERS_SECONDS = 10
      BUSY_THREADS = 1
      # What the busy clients got: answers a second, and the server's CPU time for each in microseconds.
      Busy = Struct.new(:rate, :cpu_us)

      # @param load_generator [Wrk]
      # @param held [#hold] gives the clients (HeldClients)
      # @param pause [#call] waits so many seconds
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
        run_load(scenario.warmup, process, settings.warmup_seconds)
        alone = [busy(hold, process, scenario.seconds(settings))]
        idle = settled(process)
        found = @held.hold(process.url) { |clients| beside(clients, hold, process, scenario.seconds(settings)) }
        alone << busy(hold, process, scenario.seconds(settings))
        after = settled(process)
        raise Error, "the server ended under load: #{process.last_words}" unless process.alive?

        figures(found, hold, idle, after).merge(shares(found, alone.compact))
      end

      private

      # What there is while they stay.
      def beside(clients, hold, process, seconds)
        asked = clients.ask(hold.clients, hold.path, expects: (hold.expects if hold.served))
        first = clients.answered(hold.expects, within: ANSWERS_SECONDS) if hold.wait_seconds.zero?
        rss = settled(process)
        open = clients.open
        busy = busy(hold, process, seconds)
        last = clients.answered(hold.expects, within: hold.wait_seconds) unless first # they have waited SETTLE_SECONDS of it: a second wave comes later
        { asked: asked, answered: first || last, open: open, rss: rss, busy: busy }
      end

      def settled(process)
        @pause.call(SETTLE_SECONDS)
        process.tree.rss_bytes
      end

      def busy(hold, process, seconds)
        return if hold.busy.zero?

        before = process.tree.cpu_seconds
        outcome = run_load(Load.new(connections: hold.busy, threads: BUSY_THREADS), process, seconds)
        Busy.new(outcome.rate, (process.tree.cpu_seconds - before) * 1e6 / [outcome.requests, 1].max)
      end

      def run_load(load, process, seconds)
        @load_generator.run(load, url: process.url, seconds: seconds)
      end

      def figures(found, hold, idle, after)
        growth = found[:rss] - idle
        served = [found[:answered], found[:open]].min
        {
          "clients" => found[:asked], "answered" => found[:answered], "open" => found[:open], "rss_idle_bytes" => idle, "rss_peak_bytes" => found[:rss],
          "rss_growth_bytes" => growth, "rss_left_bytes" => after - idle, "bytes_per_client" => served.zero? ? nil : (growth.to_f / served).round,
          "error_count" => hold.clients - served, "flags" => served == hold.clients ? [] : ["it served #{served} of #{hold.clients} clients at once"]
        }
      end

      def shares(found, alone)
        return {} if alone.empty?

        rate, cpu_us = %i[rate cpu_us].map { |figure| alone.sum(&figure) / alone.size }
        beside = found[:busy]
        { "rate" => beside.rate.round(2), "rate_alone" => rate.round(2), "busy_share" => (beside.rate / rate).round(4),
          "cpu_us_per_request" => beside.cpu_us.round(3), "cpu_us_alone" => cpu_us.round(3) }
      end
    end
  end
end
