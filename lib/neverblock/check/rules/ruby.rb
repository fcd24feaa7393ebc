# frozen_string_literal: true

# The Ruby that runs: known faults of old versions, and YJIT.

require "neverblock/boot/notices"
require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module Ruby
        # Scheduler hooks that are missing before a version: [first Ruby with it, rule, effect].
        FAULTS = [
          ["3.4", "ruby-files",
           "before Ruby 3.4 a scheduler does not see that a file is opened, looked up, renamed " \
           "or removed: on a slow disk each of these blocks all requests of its process"]
        ].freeze

        module_function

        # @return [Array<Finding>]
        def call(_subject, version: RUBY_VERSION, yjit: nil)
          [weaker(version), *faults(version), yjit(yjit)].compact
        end

        def weaker(version)
          line = Boot::Notices.weaker_ruby(version) or return
          fix = "run it with Ruby #{Boot::Notices::RUBY_ADVISED} or newer"
          Finding.of(:warning, "ruby", line, fix)
        end

        def faults(version)
          FAULTS.filter_map do |first, rule, what|
            next unless Gem::Version.new(version) < Gem::Version.new(first)

            Finding.of(:note, rule, what,
                       "Ruby #{first}, or NB.offload { } around work on slow files",
                       guide: "docs/HOOKS.md")
          end
        end

        def yjit(compiler)
          compiler ||= defined?(RubyVM::YJIT) ? RubyVM::YJIT : nil
          return no_yjit unless compiler
          return if compiler.enabled? || compiler.respond_to?(:enable) # the server switches it on

          Finding.of(:note, "yjit", "YJIT is off, and this Ruby can switch it on only at its start",
                     Boot::Notices.yjit_options)
        end

        def no_yjit
          Finding.of(:note, "yjit",
                     "this Ruby was built without YJIT, which makes most applications faster",
                     "a Ruby that has it")
        end
        private_class_method :weaker, :faults, :yjit, :no_yjit
      end
    end
  end
end
