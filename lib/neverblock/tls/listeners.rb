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

      # One address: the numbers of its listeners, its certificates, and the files as they were.
      Entry = Struct.new(:bind, :numbers, :seen)
      private_constant :Entry

      # @param engine [Engine]
      # @param log [Log]
      # @param native [Module] the module of TLSContext
      def initialize(engine, log, native: NeverBlock)
        @engine = engine
        @log = log
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
        identities.each_with_object(@native::TLSContext.new(*[nil] * 6)) do |identity, context|
          context.add(identity.names, identity.chain, identity.key)
        end
      rescue @native::TLSContext::Refused => e
        raise Unusable, "OpenSSL refuses the #{e.fault} (#{e.message})"
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
        return self unless @entries.any? { |entry| entry.bind.identities.any? }

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
        return [development(bind)] if bind.identities.empty?

        bind.identities.map do |files|
          Identity.read(files).tap { |one| one.warning&.then { |line| @log.warn(line) } }
        end
      end

      def development(bind)
        identity, line = Development.identity(bind.host)
        @log.info(line)
        identity
      end

      # Time, size and number of each file: a renewed one differs in one of them.
      def stamps(bind)
        bind.identities.flat_map { |files| [files.cert, files.key] }.uniq.to_h do |path|
          stat = File.stat(path)
          [path, [stat.mtime, stat.size, stat.ino]]
        rescue SystemCallError
          [path, nil]
        end
      end

      def renew_entry(entry, asked)
        now = stamps(entry.bind)
        return if entry.bind.identities.empty? || (now == entry.seen && !asked)

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
