# frozen_string_literal: true

# The methods that a check may call: fibers, the addresses of the services, and the proofs that the
# loop went on. They are called in a fiber of NB.run.

require "net/http"
require "securerandom"
require "socket"

module Clients
  class Play
    # A fiber that sleeps this long again and again shows that the loop turns.
    TICK_S = 0.005

    # @param services [Hash] ports and files as Backends gives them
    def initialize(services)
      @services = services
    end

    def port(name)
      @services.fetch(name.to_s)
    end

    # @return [String] the certificate to trust
    def ca_file
      port(:ca)
    end

    # @return [String] a URL of the HTTP service
    def url(path, host: "127.0.0.1", tls: false)
      "http#{"s" if tls}://#{host}:#{port(tls ? :https : :http)}#{path}"
    end

    # @return [String] at /gate/..., with one name for all fibers of a check
    def gate_path(name, size, token)
      "/gate/#{name}/#{size}/#{token}"
    end

    def token
      SecureRandom.hex(8)
    end

    # Runs the block in `count` fibers at once.
    # @return [Array] what they gave, in order
    # @raise the first error of any
    def fibers(count)
      done = Thread::Queue.new
      results = Array.new(count)
      count.times do |index|
        Fiber.schedule do
          results[index] = yield(index)
          done << nil
        rescue StandardError => e
          done << e
        end
      end
      errors = Array.new(count) { done.pop }.compact
      raise errors.first if errors.any?

      results
    end

    # Each fiber asks with a token of its own and must be given that one.
    # @yieldparam token [String]
    def each_its_own(count)
      fibers(count) do |index|
        mine = "#{index}-#{token}"
        same(mine, yield(mine))
      end
      "#{count} fibers"
    end

    def same(wanted, got)
      return got if wanted == got
      raise Blocked, got if got.to_s.include?("requests were inside at once")

      raise Wrong, "wanted #{wanted.inspect}, got #{got.to_s[0, 200].inspect}"
    end

    def hold(condition, message)
      raise Wrong, message unless condition
    end

    # @return [Exception] what the block raised, which must be one of these
    def raises(*classes)
      value = yield
    rescue *classes => e
      e
    else
      raise Wrong, "#{classes.join(" or ")} was to be raised; got #{value.inspect[0, 200]}"
    end

    # The block must wait, and the loop turn meanwhile.
    # @param at_least [Integer] ticks
    def while_ticking(at_least: 5)
      ticks = 0
      over = false
      Fiber.schedule do
        until over
          sleep(TICK_S)
          ticks += 1
        end
      end
      value = yield
      if ticks < at_least
        raise Blocked, "another fiber that sleeps #{TICK_S} s had #{ticks} turns meanwhile"
      end

      value
    ensure
      over = true
    end

    # @param target [Integer] port of a real server
    # @param size [Integer] 0: nothing waits there; else parts with "gate" in them wait for as many
    # @return [Integer] port
    def relay(target, size = 0, tls: false)
      Integer(Net::HTTP.get(URI(url("/relay/#{target}/#{size}#{"/tls" if tls}"))), 10)
    end

    # Runs the block in `count` fibers. The first thing that each sends waits in the turnstile until
    # all have sent something.
    # @param through [Integer] port of a turnstile
    # @param connections [Integer] how many connections take part
    # @return [Array] the values of the fibers
    # @raise [Blocked] when they came one after another
    def inside_at_once(count, through:, connections: count, &block)
      Net::HTTP.get(URI(url("/turnstile/#{through}/arm/#{connections}")))
      values = fibers(count, &block)
      most = Integer(Net::HTTP.get(URI(url("/turnstile/#{through}/most"))), 10)
      raise Blocked, "#{most} of #{connections} were inside at once" if most < connections

      values
    end

    # @param target [Integer] port of a real server
    # @return [Integer] port
    def turnstile(target)
      Integer(Net::HTTP.get(URI(url("/turnstile/#{target}"))), 10)
    end

    # Waits, within a bound, for what nobody tells.
    def eventually(what, seconds: 8)
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      until yield
        if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
          raise Blocked, "#{what}: not within #{seconds} s"
        end

        sleep(TICK_S)
      end
    end
  end
end
