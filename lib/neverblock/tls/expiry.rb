# frozen_string_literal: true

# Tells in the log of certificates that expire soon: when so many days are left, once for each, and
# of one certificate at most a line a day. One that has expired is told when that happens, and each
# time its files are read.

module NeverBlock
  module TLS
    class Expiry
      # Days left, the fewest first; 0: it has expired.
      STAGES = [0, 1, 3, 7, 14].freeze
      DAY_S = 86_400
      private_constant :STAGES, :DAY_S

      # What was said last of a file's certificate, and when.
      Told = Struct.new(:not_after, :stage, :at)
      private_constant :Told

      # @param log [Log]
      # @param clock [#now]
      def initialize(log, clock: Time)
        @log = log
        @clock = clock
        @told = {} # by path
      end

      # @param identity [Identity]
      # @param read [Boolean] whether its files have just been read
      # @return [void]
      def look(identity, read: false)
        return unless identity.files

        now = @clock.now
        stage = stage_of(identity, now)
        line = due?(identity, stage, now) ? words(identity, stage, now) : nil
        line ||= identity.warning(now) if read
        @log.warn(line) if line
      end

      private

      def stage_of(identity, now)
        left = identity.not_after - now
        STAGES.find { |days| left < days * DAY_S }
      end

      # Notes that it is told, where it is.
      def due?(identity, stage, now)
        return false unless stage

        told = @told[identity.files.cert]
        return false if told && told.not_after == identity.not_after && !later?(told, stage, now)

        @told[identity.files.cert] = Told.new(identity.not_after, stage, now)
        true
      end

      def later?(told, stage, now)
        stage < told.stage && (stage.zero? || now - told.at >= DAY_S)
      end

      def words(identity, stage, now)
        return identity.warning(now) if stage.zero?

        left = stage == 1 ? "less than a day" : "less than #{stage} days"
        "the certificate #{identity.files.cert} expires in #{left}, on " \
          "#{identity.not_after.getutc.strftime("%Y-%m-%d %H:%M UTC")}; renew it"
      end
    end
  end
end
