# frozen_string_literal: true

module NeverBlock
  module Bench
    # Every server the benchmarks know, where it is Ruby with YJIT; one process each, but those whose names say how many workers ("w2").
    module Servers
      # Room for every client of the largest load.
      FIBERS = 1024
      # Of Puma, beside one process with all threads.
      WORKERS = 4

      class << self
        # @return [Array<Server>] in the order of the tables
        def all
          [neverblock, neverblock_5000, two_threads, nginx, iodine(1), iodine(5), falcon, puma(5), puma(1000), *clusters]
        end

        # @param names [Array<String>]
        # @return [Array<Server>]
        def named(names)
          found = all.to_h { |server| [server.name, server] }
          names.map { |name| found.fetch(name) }
        end

        # Those that an application with a database is measured on: as many requests at once as connections where that is what bounds them.
        # @param pool [Integer] connections of all workers together; divided by WORKERS
        # @param gems [String] folder of benchmark/peers with the Gemfile that the application needs (Bundle)
        # @param note [String, nil] for the names of those that do not tell the pool, where a claim has several
        # @yieldparam share [Integer] connections of one worker
        # @yieldreturn [Hash{String => String}] environment of the application; asked when a server is started
        # @return [Array<Server>] neverblock, Puma with a thread for each connection, Puma with WORKERS workers, Falcon
        def with_database(pool:, gems:, note: nil, &environment)
          named = ->(family) { [family, note].compact.join(" ") }
          own = NeverBlockServer.new(named.call("neverblock"), settings: "#{FIBERS} fibers, one process, pool: #{pool}", fibers: FIBERS,
                                                               bundle: Bundle.new("neverblock", with: gems), environment: -> { environment.call(pool) })
          given = ->(family, share) { { bundle: Bundle.new(family, with: gems), environment: -> { environment.call(share) } } }
          [own, puma(pool, **given.call("puma", pool)), puma_workers(WORKERS, pool / WORKERS, **given.call("puma", pool / WORKERS)),
           falcon_workers(named.call("falcon"), 1, **given.call("falcon", pool))]
        end

        # What many workers of one thread are for, and as few of ours as do the same work.
        # @param own [Array<Integer>] workers of NeverBlock; 1: one process, without a front
        # @param puma [Integer] workers of Puma, with a thread each
        # @param pool [Integer] connections of all workers together
        # @param gems [String] as in with_database; so is the block
        # @return [Array<Server>] neverblock with each of these numbers, Puma
        def workers_with_database(own:, puma:, pool:, gems:, &environment)
          ours = own.map do |count|
            NeverBlockServer.new("neverblock w#{count}", settings: "#{"#{count} workers, " if count > 1}fibers: #{FIBERS}, pool in each: #{pool / count}", fibers: FIBERS,
                                                         workers: count, bundle: Bundle.new("neverblock", with: gems), environment: -> { environment.call(pool / count) })
          end
          [*ours, puma_workers(puma, 1, bundle: Bundle.new("puma", with: gems), environment: -> { environment.call(pool / puma) })]
        end

        private

        def neverblock
          NeverBlockServer.new("neverblock", settings: "#{FIBERS} fibers, one process", fibers: FIBERS)
        end

        def neverblock_5000
          NeverBlockServer.new("neverblock 5000", settings: "5000 fibers, one process", fibers: 5_000)
        end

        # One worker in a cluster of its own is what two are compared with. "h1": a sleep keeps its worker, since nothing else bounds one to a request at a time.
        def clusters
          [neverblock_workers("neverblock w2", 2, FIBERS), neverblock_workers("neverblock w4 f1", 4, 1), puma_workers(1, 5), puma_workers(2, 5), puma_workers(4, 1),
           falcon_workers("falcon w1", 1), falcon_workers("falcon w2", 2), falcon_workers("falcon w4 h1", 4, environment: { "NB_BENCH_HOLD" => "1" })]
        end

        def neverblock_workers(name, count, fibers)
          NeverBlockServer.new(name, settings: "#{count} workers, fibers: #{fibers}", fibers: fibers, workers: count)
        end

        def two_threads
          NeverBlockServer.new("neverblock two-threads", settings: "the I/O loop on a thread of its own", fibers: FIBERS,
                                                         command: "benchmark/apps/two_threads.rb")
        end

        def nginx
          NginxServer.new("nginx", settings: "one worker, return 200")
        end

        def iodine(threads)
          GemServer.new("iodine #{threads}", settings: "one process, threads: #{threads}") do |port, app|
            ["-b", "127.0.0.1", "-p", port.to_s, "-w", "1", "-t", threads.to_s, app]
          end
        end

        def falcon
          falcon_workers("falcon", 1)
        end

        # Falcon logs every connection that a client resets; the load generator resets them all when it ends.
        def falcon_workers(name, count, environment: {}, **options)
          settings = count == 1 ? "one worker process" : "#{count} worker processes#{", one sleep at a time in each" unless environment.empty?}"
          quiet = -> { { "CONSOLE_LEVEL" => "error", **Environment.told(environment) } }
          GemServer.new(name, settings: settings, environment: quiet, **options) do |port, app|
            ["serve", "--bind", "http://127.0.0.1:#{port}", "--count", count.to_s, "--config", app]
          end
        end

        def puma(threads, **options)
          puma_server("puma #{threads}", "single mode, threads: #{threads}", 0, threads, **options)
        end

        def puma_workers(count, threads, **options)
          puma_server("puma w#{count} t#{threads}", "cluster mode, workers: #{count}, threads in each: #{threads}", count, threads, **options)
        end

        def puma_server(name, settings, count, threads, **options)
          GemServer.new(name, settings: settings, **options) do |port, app|
            ["-C", File.join(ROOT, "benchmark/peers/puma/config.rb"), "-w", count.to_s, "-t", "#{threads}:#{threads}", "-b", "tcp://127.0.0.1:#{port}", app]
          end
        end
      end
    end
  end
end
