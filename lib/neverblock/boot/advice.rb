# frozen_string_literal: true

# What would make this server better, for its log: at most one line, once a day for each user of
# the machine. `neverblock check` has all of it. When it was last said is the time of a file in the
# user's folder for states (XDG Base Directory Specification). Where that cannot be written, each
# start says it.

require "fileutils"

module NeverBlock
  module Boot
    module Advice
      DAY_S = 86_400
      FILE = "neverblock/advice"

      module_function

      # @param texts [Array<String, nil>] the most useful one first
      # @param wanted [Boolean] the setting log_advice
      # @param env [Hash, ENV]
      # @param now [Time]
      # @return [String, nil] a line for the log
      def line(texts, wanted:, env: ENV, now: Time.now)
        first, *others = texts.compact
        return unless wanted && first

        path = path_in(env)
        return if path && said_today?(path, now)

        remember(path, now)
        more = "; `neverblock check` has #{others.size} more" if others.any?
        "advice: #{first}#{more} (once a day; `log_advice false` ends it)"
      end

      # @return [String, nil] nil: the user has no folder
      def path_in(env)
        folder = env["XDG_STATE_HOME"].to_s
        folder = File.join(env["HOME"], ".local/state") if folder.empty? && env["HOME"]
        File.join(folder, FILE) if folder.start_with?("/")
      end

      def said_today?(path, now)
        age = now - File.mtime(path)
        age >= 0 && age < DAY_S
      rescue SystemCallError
        false
      end

      def remember(path, now)
        return unless path

        FileUtils.mkdir_p(File.dirname(path))
        FileUtils.touch(path, mtime: now)
      rescue SystemCallError
        nil # it is said again
      end

      private_class_method :path_in, :said_today?, :remember
    end
  end
end
