# frozen_string_literal: true

# The TLS listeners of an engine: makes what each serves with, and makes it anew when a file has
# changed. A broken new file leaves the old one serving, and is read again at each look. The log
# says once for each change what is wrong.

require "neverblock/tls/development"
require "neverblock/tls/expiry"
require "neverblock/tls/identity"
require "neverblock/tls/pause"
require "neverblock/tls/self_signed"

module NeverBlock
  module TLS
    class Listeners
      # Seconds between two looks at the files.
      LOOK_S = 10
      # Seconds that #close waits for a look under way: the command of a passphrase may hang.
      CLOSE_S = 1

      # Settings that OpenSSL may refuse, as users know them.
      SETTINGS = {
        versions: "tls { min_version }", ciphers: "tls { ciphers }", suites: "tls { suites }",
        groups: "tls { curves }"
      }.freeze
      private_constant :SETTINGS

      # Days of a certificate that stands for one that is still to be issued.
      STANDS_DAYS = 30
      private_constant :STANDS_DAYS

      # One address: the numbers of its listeners, the certificates that it serves, their files as
      # they were, and what the log was told of files that it cannot serve (nil: there are none).
      Entry = Struct.new(:numbers, :seen, :identities, :problem)
      private_constant :Entry

      # @param engine [Engine]
      # @param log [Log]
      # @param config [Config]
      # @param native [Module] the module of TLSContext
      # @param development [#identity] makes the certificate of an address that names none
      # @param expiry [Expiry]
      def initialize(engine, log, config, native: NeverBlock, development: Development,
                     expiry: Expiry.new(log))
        @engine = engine
        @log = log
        @config = config
        @native = native
        @development = development
        @expiry = expiry
        @entries = {}.compare_by_identity # by Config::Bind
        @challenges = {} # Identity by host name
        @stand_ins = {} # Identity by Config::Acme
        @renewing = Mutex.new
        @pause = Pause.new
      end

      # Reads the certificates of an address. Blocks.
      # @param bind [Config::Bind] an https address
      # @return [TLSContext]
      # @raise [Unusable] a certificate cannot be used
      def context(bind)
        refuse unless @native::TLSContext::LIBRARY
        seen = stamps(bind) # first: a file that changes while it is read is looked at again
        identities = identities_of(bind)
        look_at(identities)
        made = make(bind, identities)
        @entries[bind] = Entry.new([], seen, identities)
        made
      end

      # @param bind [Config::Bind] as #context got it
      # @return [Array<Identity>] what it serves
      def identities(bind)
        @entries.fetch(bind).identities
      end

      # Answers TLS-ALPN-01 (RFC 8737) on all addresses. Thread-safe.
      # @param challenges [Hash{String => Identity}] by host name; {}: no more
      # @return [void]
      # @raise [Unusable]
      def challenges=(challenges)
        @renewing.synchronize do
          @challenges = challenges
          @entries.each { |bind, entry| give(entry, make(bind, entry.identities)) }
        end
      end

      # Has a listener, just opened, speak TLS.
      # @param bind [Config::Bind] as #context got it
      # @param number [Integer] of the listener
      # @param context [TLSContext]
      # @return [void]
      def add(bind, number, context)
        @engine.listener_tls(number, context)
        @entries.fetch(bind).numbers << number
      end

      # Looks at the files from time to time, on a thread of its own, until #close.
      # @return [self]
      def follow
        return self unless files?

        @thread = Thread.new { look_until_closed }
        @thread.name = "nb-certificates"
        self
      end

      # Has the thread of #follow read all files now. Returns at once. Thread-safe.
      # @return [Boolean] whether there are files
      def ask
        @pause.ask
        files?
      end

      # Takes files that have changed, and tells of certificates that expire soon. Blocks while it
      # reads. Thread-safe.
      # @param asked [Boolean] also files that look unchanged
      # @return [void]
      def renew(asked: false)
        @renewing.synchronize do
          @entries.each { |bind, entry| renew_entry(bind, entry, asked) }
          @entries.each_value { |entry| entry.identities.each { |one| @expiry.look(one) } }
        end
      end

      # @return [void]
      def close
        @pause.close
        @thread&.join(CLOSE_S)
      end

      private

      def refuse
        raise Unusable, "this build has no TLS: install OpenSSL's development files " \
                        "(libssl-dev), and install the gem again; or put a proxy in front"
      end

      def files?
        @entries.each_key.any? { |bind| files_of(bind).any? }
      end

      def files_of(bind)
        secure = @config.secure
        secure.identities_of(bind) + secure.acme_of(bind).map(&:files)
      end

      def look_until_closed
        while (cause = @pause.wait(LOOK_S))
          renew(asked: cause == :asked)
        end
      end

      def make(bind, identities)
        context = new_context(bind)
        identities.each { |identity| add_to(context, identity, bind) }
        @challenges.each { |name, one| context.add_challenge(name, one.chain, one.key) }
        context
      end

      def new_context(bind)
        verify, path = @config.secure.clients_of(bind)
        text = Identity.text_of(path, "file of authorities") if path
        @native::TLSContext.new(*@config.secure.context_arguments(verify, text))
      rescue @native::TLSContext::Refused => e
        refused = SETTINGS.fetch(e.fault) { "the #{e.fault} of #{path}" }
        raise Unusable, "OpenSSL refuses #{refused}#{reason(e)}"
      end

      def add_to(context, identity, bind)
        context.add(identity.names, identity.chain, identity.key)
      rescue @native::TLSContext::Refused => e
        file = identity.files&.cert || bind
        raise Unusable, "OpenSSL refuses the #{e.fault} of #{file}#{reason(e)}"
      end

      def reason(refused)
        " (#{refused.message})" unless refused.message.empty?
      end

      def identities_of(bind)
        return [made_here(bind)] if files_of(bind).empty?

        secure = @config.secure
        secure.identities_of(bind).map { |files| Identity.read(files) } +
          secure.acme_of(bind).map { |order| issued(order, bind) }
      end

      def look_at(identities)
        identities.each { |one| @expiry.look(one, read: true) }
      end

      # A kept file that cannot be used is as good as none when the server starts: another one will
      # be issued.
      def issued(order, bind)
        none_yet = !@entries.key?(bind) || @stand_ins.key?(order)
        return stand_in(order, bind) if none_yet && !File.exist?(order.files.cert)

        Identity.read(order.files).tap { @stand_ins.delete(order) }
      rescue Unusable => e
        raise if @entries.key?(bind)

        @log.warn(e.message)
        stand_in(order, bind)
      end

      def stand_in(order, bind)
        @stand_ins[order] ||= SelfSigned.identity(order.names, days: STANDS_DAYS).tap do
          @log.info("#{bind} serves a self-signed certificate for #{order} until " \
                    "#{order.directory} has issued one")
        end
      end

      def made_here(bind)
        none_made(bind) unless @config.makes_certificates?
        identity, line = @development.identity(bind.host)
        @log.info(line)
        identity
      end

      def none_made(bind)
        raise Unusable, "it has no certificate, and one is made in development only; name it: " \
                        "#{bind}?cert=FILE&key=FILE, or tls { cert \"FILE\"; key \"FILE\" }"
      end

      # Time, size and number of each file: a renewed one differs in one of them.
      def stamps(bind)
        paths = files_of(bind).flat_map { |files| [files.cert, files.key] }
        [*paths, *@config.secure.clients_of(bind).last].uniq.to_h do |path|
          stat = File.stat(path)
          [path, [stat.mtime, stat.size, stat.ino]]
        rescue SystemCallError
          [path, nil]
        end
      end

      # Whatever is wrong with the new files, the thread goes on.
      def renew_entry(bind, entry, asked)
        now = stamps(bind)
        return if now.empty? || (now == entry.seen && !entry.problem && !asked)

        serve(bind, entry, now)
      rescue StandardError => e
        problem = [now, e.message]
        return if entry.problem == problem && !asked

        entry.problem = problem
        @log.warn("#{bind} goes on with its old certificate: #{e.message}")
      end

      def serve(bind, entry, now)
        identities = identities_of(bind)
        give(entry, make(bind, identities))
        look_at(identities)
        changed = now.keys.reject { |path| now[path] == entry.seen[path] }
        entry.seen, entry.identities, entry.problem = now, identities, nil
        return if changed.empty?

        @log.info("#{bind}: serves the certificate of #{changed.join(", ")} from now on")
      end

      def give(entry, context)
        entry.numbers.each { |number| @engine.listener_tls(number, context) }
      end
    end
  end
end
