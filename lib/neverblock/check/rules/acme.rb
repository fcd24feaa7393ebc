# frozen_string_literal: true

# What `tls { acme }` needs: the gem, addresses, and a folder that the server may write to.

require "neverblock/check/finding"
require "neverblock/tls/acme"

module NeverBlock
  module Check
    module Rules
      module Acme
        module_function

        # @param missing [#call] what TLS::Acme.missing returns
        # @return [Array<Finding>]
        def call(subject, missing: -> { TLS::Acme.missing })
          config = subject.config
          return [] unless TLS::Acme.wanted?(config)

          [absent(missing.call), wrong(TLS::Acme.wrong(config)), alone(config),
           *config.secure.acme.map(&:folder).uniq.map { |path| folder(path) }].compact
        end

        def absent(text)
          return unless text

          seen, mend = text.split("; ", 2)
          Finding.of(:serious, "acme-gem", "the server does not start: #{seen}", mend)
        end

        def wrong(text)
          return unless text

          seen, mend = text.split(": bind", 2)
          Finding.of(:serious, "acme-address", "the server does not start: #{seen}", "bind#{mend}")
        end

        # HTTP-01 may be what works behind a proxy that ends TLS.
        def alone(config)
          return if TLS::Acme.wrong(config) || !config.binds.all?(&:https?)

          Finding.of(:note, "acme-plain",
                     "tls { acme } has no plain address: names are validated by TLS-ALPN-01 " \
                     "alone, on port 443",
                     "nothing, if clients reach this server on port 443; else bind " \
                     "http://0.0.0.0:80 as well")
        end

        def folder(path)
          there = path
          there = File.dirname(there) until File.exist?(there)
          return if File.directory?(there) && File.writable?(there)

          Finding.of(:serious, "acme-folder",
                     "the server does not start: user #{::Process.euid} may not write to " \
                     "#{there}, where tls { acme } keeps certificates",
                     "name another folder (folder: \"/path\"), or let the server's user write " \
                     "there")
        end
        private_class_method :absent, :wrong, :alone, :folder
      end
    end
  end
end
