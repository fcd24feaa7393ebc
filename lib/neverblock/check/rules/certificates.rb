# frozen_string_literal: true

# The certificates of https addresses: whether the server starts with them, and whether clients will
# accept them.

require "neverblock/check/finding"
require "neverblock/check/rules/certificate_chain"
require "neverblock/tls/listeners"

module NeverBlock
  module Check
    module Rules
      module Certificates
        GUIDE = "docs/guides/tls.md"
        DAY_S = 86_400
        SOON_DAYS = 14
        RSA_BITS_MIN = 2_048 # NIST SP 800-57, and Debian's OpenSSL
        EC_BITS_MIN = 256
        # Hashes for which others can find a second certificate.
        WEAK_SIGNATURES = /sha1|md5|md2/i.freeze
        # Ciphers that keep no secrets when the key is found later, or are broken (RFC 9325).
        FORWARD_SECRET = /\A(?:TLS_|ECDHE-|DHE-)/.freeze
        SOUND = /GCM|CHACHA20|CCM/.freeze
        # How to mend what a message of TLS::Unusable says.
        MENDS = {
          /may not read it/ => "let the server's user read the file (chgrp, chmod g+r)",
          /no such file|it is a folder/ => "write the path of the file in PEM",
          /does not belong/ => "name the key that the certificate was requested with",
          /has to be the first/ => "put the certificate of the key first, as fullchain.pem has it",
          /passphrase/ => "say where the passphrase is: passphrase_env=NAME or " \
                          "passphrase_command=COMMAND",
          /too small/ => "have it issued for an RSA key of 2048 bits, or an EC key of 256",
          /OpenSSL refuses tls/ => "write the setting in OpenSSL's form (openssl ciphers -v)"
        }.freeze
        OTHER_MEND = "get the files anew from whoever issues the certificate"
        private_constant :GUIDE, :DAY_S, :SOON_DAYS, :RSA_BITS_MIN, :EC_BITS_MIN, :WEAK_SIGNATURES,
                         :FORWARD_SECRET, :SOUND, :MENDS, :OTHER_MEND

        # Takes the place of an engine's log, since each line is a finding here.
        class Silence
          def warn(_line); end
          alias info warn
        end
        private_constant :Silence

        module_function

        # Reads the files, and runs commands that write passphrases.
        # @return [Array<Finding>]
        def call(subject, native: NeverBlock, now: Time.now)
          binds = subject.config.binds.select(&:https?)
          return [] if binds.empty? || native::TLSContext::LIBRARY.nil?

          listeners = TLS::Listeners.new(nil, Silence.new, subject.config, native: native)
          found = binds.flat_map { |bind| of_address(bind, subject.config, listeners, now) }
          [*found, *ciphers(subject.config)].uniq
        end

        def of_address(bind, config, listeners, now)
          files = config.secure.identities_of(bind)
          return config.makes_certificates? ? [] : [none(bind)] if files.empty?

          listeners.context(bind)
          read = listeners.identities(bind)
          [*read.flat_map { |identity| of_identity(identity, now) }, *names(bind, read)]
        rescue TLS::Unusable => e
          [unusable(bind, e.message)]
        end

        def none(bind)
          Finding.of(:serious, "certificate",
                     "the server does not start: #{bind} has no certificate, and one is made in " \
                     "development only", "name it: #{bind}?cert=FILE&key=FILE")
        end

        def unusable(bind, message)
          mend = MENDS.find { |seen, _| message.match?(seen) }&.last || OTHER_MEND
          Finding.of(:serious, "certificate",
                     "the server does not start: cannot listen on #{bind}: " \
                     "#{message.sub(/; say where it is:.*/, "")}", mend,
                     guide: "#{GUIDE}#when-something-is-wrong")
        end

        def of_identity(identity, now)
          [dates(identity, now), key(identity), signature(identity), readable(identity),
           *CertificateChain.new(identity, now).findings].compact
        end

        def dates(identity, now)
          warning = identity.warning(now)
          days = ((identity.not_after - now) / DAY_S).floor
          mend = "renew it; the server takes the new file by itself"
          return Finding.of(:serious, "certificate-expiry", warning, mend) if warning
          return if days >= SOON_DAYS

          Finding.of(:warning, "certificate-expiry",
                     "the certificate #{identity.files.cert} expires in " \
                     "#{days.zero? ? "less than a day" : "#{days} day#{"s" if days > 1}"}", mend)
        end

        def key(identity)
          public_key = identity.certificates.first.public_key
          kind, bits, least =
            case public_key
            when OpenSSL::PKey::RSA then ["RSA", public_key.n.num_bits, RSA_BITS_MIN]
            when OpenSSL::PKey::EC then ["EC", public_key.group.degree, EC_BITS_MIN]
            end
          return unless kind && bits < least

          Finding.of(:warning, "certificate-key",
                     "the #{kind} key of #{identity.files.cert} has #{bits} bits: clients refuse " \
                     "it", "have it issued for an RSA key of 2048 bits, or an EC key of 256")
        end

        def signature(identity)
          weak = identity.certificates.find do |certificate|
            certificate.signature_algorithm.match?(WEAK_SIGNATURES) &&
              certificate.issuer != certificate.subject
          end
          return unless weak

          Finding.of(:warning, "certificate-key",
                     "#{identity.files.cert}: a certificate is signed with " \
                     "#{weak.signature_algorithm}: clients refuse it", "have it issued anew")
        end

        def readable(identity)
          path = identity.files.key
          return unless File.stat(path).mode.anybits?(0o004)

          Finding.of(:warning, "certificate-key",
                     "every user of this machine may read the key #{path}", "chmod o-r #{path}")
        end

        # An address by number says nothing of the names that clients use.
        def names(bind, read)
          nameless = read.find { |identity| CertificateChain.nameless?(identity) }
          return [nameless(nameless)] if nameless
          return [] if bind.host.match?(/\A[\d.]+\z|:/) || covered?(bind.host, read)

          [Finding.of(:warning, "certificate-name",
                      "no certificate of #{bind} is for #{bind.host}: they are for " \
                      "#{read.flat_map(&:names).uniq.first(5).join(", ")}",
                      "have one issued for #{bind.host}, or listen on the address of this machine")]
        end

        def covered?(host, read)
          read.any? do |identity|
            OpenSSL::SSL.verify_certificate_identity(identity.certificates.first, host)
          end
        end

        def nameless(identity)
          Finding.of(:warning, "certificate-name",
                     "the certificate #{identity.files.cert} has no subjectAltName: browsers " \
                     "refuse it", "have it issued with its names there")
        end

        def ciphers(config)
          list = config.secure.ciphers or return []

          known = OpenSSL::SSL::SSLContext.new.tap { |context| context.ciphers = list }.ciphers
          weak = known.map(&:first).reject do |name|
            FORWARD_SECRET.match?(name) && SOUND.match?(name)
          end
          return [] if weak.empty?

          [Finding.of(:warning, "tls-ciphers",
                      "tls { ciphers } has weak ones: #{weak.first(5).join(", ")}" \
                      "#{" and #{weak.size - 5} more" if weak.size > 5}",
                      "leave the setting out, or keep ECDHE with GCM or CHACHA20")]
        rescue OpenSSL::SSL::SSLError
          [] # an address says so
        end

        private_class_method :of_address, :none, :unusable, :of_identity, :dates, :key, :signature,
                             :readable, :names, :covered?, :nameless, :ciphers
      end
    end
  end
end
