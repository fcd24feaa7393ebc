# frozen_string_literal: true

module NeverBlock
  module Bench
    # Every server that the benchmarks know. A Ruby server has YJIT, and is one process unless its
    # name tells the number of workers ("w2").
    module Servers
      # Enough for every client of the largest load.
      FIBERS = 1024
      # Workers of Puma, beside the configuration with one process.
      WORKERS = 4

      class << self
        # @return [Array<Server>] in the order of the tables
        def all
          [neverblock, neverblock_5000, two_threads, nginx, iodine(1), iodine(5), itsi(1),
           falcon, puma(5), puma(1000), *clusters]
        end

        # @param names [Array<String>]
        # @return [Array<Server>]
        def named(names)
          found = all.to_h { |server| [server.name, server] }
          names.map { |name| found.fetch(name) }
        end

        # Servers for an application with a database, with as many concurrent requests as
        # connections where that limits them.
        # @param pool [Integer] connections of all workers together; divided by WORKERS
        # @param gems [String] folder of benchmark/peers with the application's Gemfile (Bundle)
        # @param note [String, nil] added to names that do not tell the pool, for a claim with
        #   several
        # @yieldparam share [Integer] connections of one worker
        # @yieldreturn [Hash{String => String}] environment of the application, when a server is
        #   started
        # @return [Array<Server>] neverblock, Puma with a thread for each connection, Puma with
        #   WORKERS workers, Falcon
        def with_database(pool:, gems:, note: nil, &environment)
          suffix = " #{note}" if note
          share = pool / WORKERS
          options = lambda do |family, connections|
            { bundle: Bundle.new(family, with: gems),
              environment: -> { environment.call(connections) } }
          end
          settings = "#{FIBERS} fibers, one process, pool: #{pool}"
          own = NeverBlockServer.new("neverblock#{suffix}", settings: settings, fibers: FIBERS,
                                                            **options.call("neverblock", pool))
          [own, puma(pool, **options.call("puma", pool)),
           puma_workers(WORKERS, share, **options.call("puma", share)),
           falcon_workers("falcon#{suffix}", 1, **options.call("falcon", pool))]
        end

        # A claim about many single-threaded workers, and as few of ours as do the same work.
        # @param own [Array<Integer>] numbers of NeverBlock's workers; 1: one process, without a
        #   front
        # @param puma [Integer] workers of Puma, with a thread each
        # @param pool [Integer] connections of all workers together
        # @param gems [String] see with_database; so is the block
        # @return [Array<Server>] neverblock with each of these numbers, Puma
        def workers_with_database(own:, puma:, pool:, gems:, &environment)
          options = lambda do |family, count|
            { bundle: Bundle.new(family, with: gems),
              environment: -> { environment.call(pool / count) } }
          end
          ours = own.map { |count| own_workers(count, pool, **options.call("neverblock", count)) }
          [*ours, puma_workers(puma, 1, **options.call("puma", puma))]
        end

        private

        def own_workers(count, pool, **options)
          workers = "#{count} workers, " if count > 1
          settings = "#{workers}fibers: #{FIBERS}, pool in each: #{pool / count}"
          NeverBlockServer.new("neverblock w#{count}", settings: settings, fibers: FIBERS,
                                                       workers: count, **options)
        end

        def neverblock
          NeverBlockServer.new("neverblock", settings: "#{FIBERS} fibers, one process",
                                             fibers: FIBERS)
        end

        def neverblock_5000
          NeverBlockServer.new("neverblock 5000", settings: "5000 fibers, one process",
                                                  fibers: 5_000)
        end

        # A cluster of one worker is the baseline for two. "h1": a sleep blocks its worker, because
        # Falcon has no other way to limit one to a request at a time.
        def clusters
          [neverblock_workers("neverblock w2", 2, FIBERS),
           neverblock_workers("neverblock w4 f1", 4, 1),
           puma_workers(1, 5), puma_workers(2, 5), puma_workers(4, 1),
           falcon_workers("falcon w1", 1), falcon_workers("falcon w2", 2),
           falcon_workers("falcon w4 h1", 4, environment: { "NB_BENCH_HOLD" => "1" }),
           iodine_workers(1, 5), iodine_workers(2, 5), itsi_workers(1, 5), itsi_workers(2, 5)]
        end

        def neverblock_workers(name, count, fibers)
          NeverBlockServer.new(name, settings: "#{count} workers, fibers: #{fibers}",
                                     fibers: fibers, workers: count)
        end

        def two_threads
          settings = "the I/O loop on a thread of its own"
          NeverBlockServer.new("neverblock two-threads", settings: settings, fibers: FIBERS,
                                                         command: "benchmark/apps/two_threads.rb")
        end

        def nginx
          NginxServer.new("nginx", settings: "one worker, return 200")
        end

        def iodine(threads)
          iodine_server("iodine #{threads}", "one process, threads: #{threads}", 1, threads)
        end

        def iodine_workers(count, threads)
          iodine_server("iodine w#{count} t#{threads}", processes(count, threads), count, threads)
        end

        def iodine_server(name, settings, count, threads)
          GemServer.new(name, settings: settings) do |port, app|
            ["-b", "127.0.0.1", "-p", port.to_s, "-w", count.to_s, "-t", threads.to_s, app]
          end
        end

        def itsi(threads)
          itsi_server("itsi #{threads}", "one process, threads: #{threads}", 1, threads)
        end

        def itsi_workers(count, threads)
          itsi_server("itsi w#{count} t#{threads}", processes(count, threads), count, threads)
        end

        def itsi_server(name, settings, count, threads)
          GemServer.new(name, settings: settings, gem: "itsi-server") do |port, app|
            ["serve", "-C", File.join(ROOT, "benchmark/peers/itsi/Itsi.rb"), "-r", app,
             "-w", count.to_s, "-t", threads.to_s, "-b", "http://127.0.0.1:#{port}"]
          end
        end

        def processes(count, threads)
          "#{count} worker #{count == 1 ? "process" : "processes"}, threads in each: #{threads}"
        end

        def falcon
          falcon_workers("falcon", 1)
        end

        # Falcon logs every reset connection, and the load generator resets all of them at its end.
        def falcon_workers(name, count, environment: {}, **options)
          settings = count == 1 ? "one worker process" : "#{count} worker processes"
          settings = "#{settings}, one sleep at a time in each" if count > 1 && environment != {}
          quiet = -> { { "CONSOLE_LEVEL" => "error", **Environment.told(environment) } }
          GemServer.new(name, settings: settings, environment: quiet, **options) do |port, app|
            ["serve", "--bind", "http://127.0.0.1:#{port}", "--count", count.to_s, "--config", app]
          end
        end

        def puma(threads, **options)
          puma_server("puma #{threads}", "single mode, threads: #{threads}", 0, threads, **options)
        end

        def puma_workers(count, threads, **options)
          settings = "cluster mode, workers: #{count}, threads in each: #{threads}"
          puma_server("puma w#{count} t#{threads}", settings, count, threads, **options)
        end

        def puma_server(name, settings, count, threads, **options)
          GemServer.new(name, settings: settings, **options) do |port, app|
            ["-C", File.join(ROOT, "benchmark/peers/puma/config.rb"), "-w", count.to_s,
             "-t", "#{threads}:#{threads}", "-b", "tcp://127.0.0.1:#{port}", app]
          end
        end
      end
    end
  end
end
