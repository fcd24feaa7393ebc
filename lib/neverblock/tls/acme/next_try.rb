# frozen_string_literal: true

# The time of the next try of one certificate, in a file beside it, so that a server that is started
# again and again does not ask the ACME server each time. It is written before a try, for a process
# that does not live to tell how that went.

require "fileutils"
require "json"
require "time"
require "neverblock/tls/acme/back_off"

module NeverBlock
  module TLS
    class Acme
      class NextTry
        # @return [String]
        attr_reader :path

        # @param order [Config::Acme]
        # @param folder [Folder]
        def initialize(order, folder)
          @names = order.names
          @folder = folder
          @path = "#{order.files.cert.delete_suffix(".pem")}.next_try"
        end

        # @param now [Time]
        # @return [BackOff::State] nothing of it where there is no file, where it cannot be read, or
        #   where it is for other names: somebody has mended the configuration
        def read(now)
          row = JSON.parse(File.read(@path))
          return BackOff::NONE unless row["names"] == @names

          BackOff::State.new(Integer(row["failures"]).clamp(0, BackOff::FAILURES_MOST),
                             time(row["next_try"], now), time(row["not_before"], now)).freeze
        rescue SystemCallError, JSON::ParserError, ArgumentError, TypeError, NoMethodError
          BackOff::NONE
        end

        # @param state [BackOff::State] without a time there is no file
        # @return [void]
        # @raise [SystemCallError]
        def write(state)
          return FileUtils.rm_f(@path) unless state.at

          @folder.write(@path, "#{JSON.generate(
            names: @names, failures: state.failures, next_try: state.at.getutc.iso8601,
            not_before: state.limit&.getutc&.iso8601
          )}\n")
        end

        private

        def time(text, now)
          text && [Time.iso8601(text), now + BackOff::LIMIT_S].min
        end
      end
    end
  end
end
