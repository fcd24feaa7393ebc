# frozen_string_literal: true

# The Ruby that runs: known faults of old ones, and speed that lies about.

require "neverblock/boot/notices"
require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module Ruby
        # Hooks that are not there, or do harm, before a version: [first Ruby without it, rule, what happens].
        FAULTS = [
          ["3.4", "ruby-files",
           "before Ruby 3.4 nothing tells a scheduler that a file is opened, looked up, renamed or removed: on a slow disk each of these stops all requests of its process"]
        ].freeze

        module_function

        # @return [Array<Finding>]
        def call(_subject, version: RUBY_VERSION, yjit: nil)
          [weaker(version), *faults(version), yjit(yjit)].compact
        end

        def weaker(version)
          line = Boot::Notices.weaker_ruby(version) or return
          Finding.of(:warning, "ruby", line, "run it with Ruby #{Boot::Notices::RUBY_ADVISED} or newer")
        end

        def faults(version)
          FAULTS.filter_map do |first, rule, what|
            next unless Gem::Version.new(version) < Gem::Version.new(first)

            Finding.of(:note, rule, what, "Ruby #{first}, or NB.offload { } around what works on slow files", guide: "docs/HOOKS.md")
          end
        end

        def yjit(compiler)
          compiler ||= defined?(RubyVM::YJIT) ? RubyVM::YJIT : nil
          return Finding.of(:note, "yjit", "this Ruby was built without YJIT, which makes most applications faster", "a Ruby that has it") unless compiler
          return if compiler.enabled? || compiler.respond_to?(:enable) # the server does it

          Finding.of(:note, "yjit", "YJIT is off, and this Ruby switches it on only at its start", Boot::Notices.yjit_options)
        end
        private_class_method :weaker, :faults, :yjit
      end
    end
  end
end
