# frozen_string_literal: true

module NeverBlock
  module Bench
    # Every server the benchmarks know, each one process and, where it is Ruby, with YJIT.
    module Servers
      # Room for every client of the largest load.
      FIBERS = 1024

      class << self
        # @return [Array<Server>] in the order of the tables
        def all
          [neverblock, neverblock_5000, two_threads, nginx, iodine(1), iodine(5), falcon, puma(5), puma(1000)]
        end

        # @param names [Array<String>]
        # @return [Array<Server>]
        def named(names)
          found = all.to_h { |server| [server.name, server] }
          names.map { |name| found.fetch(name) }
        end

        private

        def neverblock
          NeverBlockServer.new("neverblock", settings: "#{FIBERS} fibers, one process", fibers: FIBERS)
        end

        def neverblock_5000
          NeverBlockServer.new("neverblock 5000", settings: "5000 fibers, one process", fibers: 5_000)
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

        # Falcon logs every connection that a client resets; the load generator resets them all when it ends.
        def falcon
          GemServer.new("falcon", settings: "one worker process", environment: { "CONSOLE_LEVEL" => "error" }) do |port, app|
            ["serve", "--bind", "http://127.0.0.1:#{port}", "--count", "1", "--config", app]
          end
        end

        def puma(threads)
          GemServer.new("puma #{threads}", settings: "single mode, threads: #{threads}") do |port, app|
            ["-C", File.join(ROOT, "benchmark/peers/puma/config.rb"), "-w", "0", "-t", "#{threads}:#{threads}",
             "-b", "tcp://127.0.0.1:#{port}", app]
          end
        end
      end
    end
  end
end
