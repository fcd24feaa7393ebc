# frozen_string_literal: true

# Certificates of `tls { acme }`: asks ACME servers for them, keeps them in a folder, and renews
# them in time, on a Ruby thread of its own. Listeners serve what the folder has. With workers this
# runs in the process that listens.

require "neverblock/errors"
require "neverblock/tls/acme/answers"
require "neverblock/tls/acme/back_off"
require "neverblock/tls/acme/failed"
require "neverblock/tls/acme/folder"
require "neverblock/tls/acme/issuance"
require "neverblock/tls/acme/kept"
require "neverblock/tls/acme/next_try"
require "neverblock/tls/pause"

module NeverBlock
  module TLS
    class Acme
      GEM = "acme-client"
      NO_GEM = "tls { acme } needs the gem #{GEM}; add it to the Gemfile: gem \"#{GEM}\""
      # Seconds until another look when another server that shares the folder asks for certificates.
      BUSY_S = 10
      # Longest wait: a clock may be set meanwhile.
      LOOK_S = 3_600
      # Shortest time from a certificate to the next: an ACME server may sign for minutes.
      APART_S = 60
      # Seconds between two questions when to renew, unless the ACME server says another time (RFC
      # 9773 section 4.3); the first after a random part of it.
      ASK_S = 21_600
      ASK_RANGE_S = (3_600..86_400).freeze
      # Seconds that #close waits for the thread, and once more when it was ended.
      CLOSE_S = 1
      private_constant :NO_GEM, :BUSY_S, :LOOK_S, :APART_S, :ASK_S, :ASK_RANGE_S, :CLOSE_S

      # One certificate. suggested: the ACME server's time of renewal; nil: none is known.
      # ask_at: when to ask for it.
      Task = Struct.new(:order, :folder, :next_try, :back_off, :at, :suggested, :ask_at)
      # The server ends.
      Closed = Class.new(StandardError)
      private_constant :Task, :Closed

      # @param config [Config]
      # @return [Boolean] whether there is anything to do
      def self.wanted?(config)
        !config.secure.acme.empty?
      end

      # Blocks while it requires the gem.
      # @param load [#call] requires the gem
      # @return [String, nil] what is missing, as a sentence with the mend
      def self.missing(load = -> { require GEM })
        load.call
        nil
      rescue LoadError
        NO_GEM
      end

      # What a challenge needs of the addresses.
      # @param order [Config::Acme]
      # @param binds [Array<Config::Bind>]
      # @return [Array<Symbol>] challenges that can be answered, in the order of the tries
      def self.kinds(order, binds)
        return [order.challenge] unless order.challenge == :both

        binds.all?(&:https?) ? %i[tls_alpn_01] : %i[http_01 tls_alpn_01]
      end

      # @param config [Config]
      # @return [String, nil] what of the configuration is wrong, with the mend
      def self.wrong(config)
        binds = config.binds
        if binds.none? { |bind| bind.https? && bind.identities.empty? }
          return "tls { acme } has no address to serve: bind one without cert=FILE: " \
                 "https://0.0.0.0:443"
        end
        return unless config.secure.acme.any? { |order| order.challenge == :http_01 }

        "tls { acme challenge: :http_01 } needs a plain address: bind one: http://0.0.0.0:80" if
          binds.all?(&:https?)
      end

      # @param engine [Engine]
      # @param listeners [Listeners]
      # @param config [Config]
      # @param log [Log]
      # @param issuance [#new] see Issuance
      # @param clock [#now]
      # @raise [StartError] the gem is missing, or the configuration is wrong
      # @raise [Unusable] a folder cannot be written to
      def initialize(engine, listeners, config, log, issuance: Issuance, clock: Time)
        Identity.require_openssl
        problem = self.class.wrong(config) || self.class.missing
        raise StartError, problem if problem

        @listeners = listeners
        @log = log
        @issuance = issuance
        @clock = clock
        @binds = config.binds
        @answers = Answers.new(engine, listeners)
        @tasks = config.secure.acme.map { |order| task(order) }
        @pause = Pause.new
      end

      # @return [self]
      def start
        @thread = Thread.new { run }
        @thread.name = "nb-acme"
        @thread.report_on_exception = false
        self
      end

      # Has the thread try again now what has failed. Returns at once. Thread-safe.
      # @return [void]
      def ask
        @pause.ask
      end

      # @return [void]
      def close
        @pause.close
        return if @thread.nil? || @thread.join(CLOSE_S)

        # It waits for an ACME server. A name lookup cannot be ended.
        @thread.kill.join(CLOSE_S)
      end

      # Does what is due. Blocks.
      # @return [Time] when to call it again
      def attend
        @tasks.each do |task|
          bound(task)
          attend_to(task) if task.at <= now
        end
        @tasks.map(&:at).min
      end

      private

      def task(order)
        folder = Folder.new(order.folder).prepare
        next_try = NextTry.new(order, folder)
        Task.new(order, folder, next_try, BackOff.new(next_try.read(now)), Time.at(0), nil,
                 now + rand(ASK_S))
      end

      def now
        @clock.now
      end

      def run
        loop do
          cause = @pause.wait((attend - now).clamp(0, LOOK_S)) or return
          hurry if cause == :asked
        end
      rescue Closed
        nil
      rescue StandardError => e
        @log.error("the thread that renews the certificates of tls { acme } has failed", e)
      end

      # While an ACME server works.
      def wait_for_server(seconds)
        @pause.wait(seconds, whole: true) or raise Closed
      end

      def hurry
        @tasks.each do |task|
          task.back_off.hurry(now)
          task.at = task.back_off.at || Time.at(0)
        end
      end

      # --- one certificate

      # No time is further off than a right clock would have made it.
      def bound(task)
        task.back_off.bound(now)
        task.at = [task.at, now + BackOff::LIMIT_S].min
        task.ask_at = [task.ask_at, now + ASK_RANGE_S.end].min
      end

      def attend_to(task)
        kept = Kept.of(task.order)
        return task.at = next_look(task, kept) if kept && !due?(task, kept)
        return put_off(task) if task.back_off.at&.> now

        taken = task.folder.alone { try(task) }
        task.at = now + BUSY_S unless taken
      rescue StandardError => e
        raise if e.is_a?(Closed)

        failed(task, e)
      end

      # Another server that shares the folder may have been here first.
      def try(task)
        kept = Kept.of(task.order)
        return task.at = next_look(task, kept) if kept && !due?(task, kept)

        issue(task, kept)
      end

      def issue(task, kept)
        before = task.back_off.state
        task.next_try.write(task.back_off.after_failure(now))
        pem = issuance(task).call(kept)
        task.folder.write(task.order.files.cert, pem)
        task.back_off.worked
        task.next_try.write(task.back_off.state)
        task.suggested = nil
        fresh = Kept.of(task.order)
        task.at = [next_look(task, fresh), now + APART_S].max
        @listeners.renew
        @log.info("acme: #{task.order}: certificate issued by #{issuer(fresh)}, valid until " \
                  "#{day(fresh.not_after)}, to be renewed from #{day(fresh.renew_at)} on")
      rescue Closed
        task.next_try.write(before) # nothing has failed
        raise
      end

      def issuance(task)
        kinds = self.class.kinds(task.order, @binds)
        @issuance.new(task.order, task.folder, @answers, kinds, method(:wait_for_server))
      end

      def failed(task, error)
        not_before = error.not_before if error.is_a?(Failed)
        task.at = task.back_off.failed(now, not_before)
        keep(task)
        @log.warn("acme: #{task.order}: no certificate: #{told(error)}; " \
                  "next try at #{day(task.at)}; #{meanwhile(task)}")
      end

      # Without the file a server that is started again asks at once; this one does not.
      def keep(task)
        task.next_try.write(task.back_off.state)
      rescue SystemCallError => e
        @log.warn("acme: #{task.order}: the time of the next try cannot be kept: #{e.message}")
      end

      # The last try has failed before this server was started.
      def put_off(task)
        task.at = task.back_off.at
        sooner = task.back_off.state.limit ? "as the ACME server wants it" : "HUP tries at once"
        @log.warn("acme: #{task.order}: no certificate: the last try has failed before this " \
                  "start; next try at #{day(task.at)} (#{task.next_try.path}), #{sooner}; " \
                  "#{meanwhile(task)}")
      end

      def meanwhile(task)
        kept = Kept.of(task.order)
        return "a self-signed one is served meanwhile" unless kept

        "the old one is served, which is valid until #{day(kept.not_after)}"
      end

      # --- when

      def due?(task, kept)
        ask_when_to_renew(task, kept) if renew_at(task, kept) > now && task.ask_at <= now
        renew_at(task, kept) <= now
      end

      # The ACME server's time counts, also where it is later (RFC 9773 section 4.2).
      def renew_at(task, kept)
        suggested = task.suggested
        suggested && suggested < kept.not_after ? suggested : kept.renew_at
      end

      def next_look(task, kept)
        [renew_at(task, kept), task.ask_at].min
      end

      # What the server does not tell changes nothing.
      def ask_when_to_renew(task, kept)
        task.ask_at = now + ASK_S
        task.suggested, again = issuance(task).renewal_times(kept)
        task.ask_at = now + (again - now).clamp(ASK_RANGE_S) if again
      rescue Failed
        nil
      rescue StandardError => e
        raise if e.is_a?(Closed)

        @log.warn("acme: #{task.order}: when to renew is not known: #{told(e)}; asked again at " \
                  "#{day(task.ask_at)}")
      end

      # --- words

      # One line.
      def told(error)
        text = error.message.lines.first.to_s.strip
        error.is_a?(Error) ? text : "#{error.class}: #{text}"
      end

      def issuer(kept)
        issuer = kept.certificate.issuer.to_a.to_h { |name, value, _| [name, value] }
        issuer.values_at("O", "CN").compact.join(" ")
      end

      def day(time)
        time.getutc.strftime("%Y-%m-%d %H:%M UTC")
      end
    end
  end
end
