# frozen_string_literal: true

# The TLS listeners of an engine: makes what each serves with, and makes it anew when a file has
# changed. A broken new file leaves the old one serving, and the log says so.

require "neverblock/tls/development"
require "neverblock/tls/identity"

module NeverBlock
  module TLS
    class Listeners
      # Seconds between two looks at the files.
      LOOK_S = 10

      # What OpenSSL may refuse, as users know it.
      REFUSED = {
        certificate: "the certificate", chain: "a certificate of the chain", key: "the key",
        mismatch: "the key", versions: "tls { min_version }", ciphers: "tls { ciphers }",
        suites: "tls { suites }", groups: "tls { curves }", name: "a name in the certificate"
      }.freeze
      private_constant :REFUSED

      # One address: the numbers of its listeners, its certificates, and the files as they were.
      Entry = Struct.new(:bind, :numbers, :seen)
      private_constant :Entry

      # @param engine [Engine]
      # @param log [Log]
      # @param config [Config]
      # @param native [Module] the module of TLSContext
      def initialize(engine, log, config, native: NeverBlock)
        @engine = engine
        @log = log
        @config = config
        @native = native
        @entries = []
        @lock = Mutex.new
        @waiting = Mutex.new
        @closed = ConditionVariable.new
        @closing = false
      end

      # @param bind [Config::Bind] an https address
      # @return [TLSContext]
      # @raise [Unusable] a certificate cannot be used
      def context(bind)
        refuse unless @native::TLSContext::LIBRARY
        identities = identities_of(bind)
        identities.each_with_object(@native::TLSContext.new(*@config.secure.context_arguments)) do |identity, context|
          context.add(identity.names, identity.chain, identity.key)
        end
      rescue @native::TLSContext::Refused => e
        raise Unusable, "OpenSSL refuses #{REFUSED.fetch(e.fault)} (#{e.message})"
      end

      # Has a listener, just opened, speak TLS.
      # @param bind [Config::Bind]
      # @param number [Integer] of the listener
      # @param context [TLSContext]
      # @return [void]
      def add(bind, number, context)
        @engine.listener_tls(number, context)
        entry = @entries.find { |one| one.bind.equal?(bind) }
        return entry.numbers << number if entry

        @entries << Entry.new(bind, [number], stamps(bind))
      end

      # @return [Boolean] whether an address speaks TLS
      def any?
        @entries.any?
      end

      # Looks at the files from time to time, on a thread of its own, until #close.
      # @return [self]
      def follow
        return self unless @entries.any? { |entry| files_of(entry.bind).any? }

        @thread = Thread.new { renew until pause }
        @thread.name = "neverblock tls"
        self
      end

      # Looks at the files, and takes what is new. Thread-safe.
      # @param asked [Boolean] also files that look unchanged
      # @return [void]
      def renew(asked: false)
        @lock.synchronize { @entries.each { |entry| renew_entry(entry, asked) } }
      end

      # @return [void]
      def close
        @waiting.synchronize do
          @closing = true
          @closed.signal
        end
        @thread&.join
      end

      private

      # @return [Boolean] whether it was closed
      def pause
        @waiting.synchronize do
          @closed.wait(@waiting, LOOK_S) unless @closing
          @closing
        end
      end

      def refuse
        raise Unusable, "this build has no TLS: install OpenSSL's development files " \
                        "(libssl-dev), and install the gem again; or put a proxy in front"
      end

      def identities_of(bind)
        files = files_of(bind)
        return [development(bind)] if files.empty?

        files.map do |pair|
          Identity.read(pair).tap { |one| one.warning&.then { |line| @log.warn(line) } }
        end
      end

      # The address's own, else those of `tls { }`.
      def files_of(bind)
        bind.identities.empty? ? @config.secure.identities : bind.identities
      end

      def development(bind)
        unless @config.makes_certificates?
          raise Unusable, "it has no certificate, and one is made in development only; name it: " \
                          "#{bind}?cert=FILE&key=FILE, or tls { cert \"FILE\"; key \"FILE\" }"
        end

        identity, line = Development.identity(bind.host)
        @log.info(line)
        identity
      end

      # Time, size and number of each file: a renewed one differs in one of them.
      def stamps(bind)
        files_of(bind).flat_map { |files| [files.cert, files.key] }.uniq.to_h do |path|
          stat = File.stat(path)
          [path, [stat.mtime, stat.size, stat.ino]]
        rescue SystemCallError
          [path, nil]
        end
      end

      def renew_entry(entry, asked)
        now = stamps(entry.bind)
        return if now.empty? || (now == entry.seen && !asked)

        changed = now.reject { |path, stamp| entry.seen[path] == stamp }.keys
        entry.seen = now
        made = context(entry.bind)
        entry.numbers.each { |number| @engine.listener_tls(number, made) }
        @log.info("#{entry.bind}: serves the certificate of #{changed.join(", ")} from now on") if changed.any?
      rescue Unusable => e
        @log.warn("#{entry.bind} goes on with its old certificate: #{e.message}")
      end
    end
  end
end
