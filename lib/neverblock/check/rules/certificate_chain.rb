# frozen_string_literal: true

# Whether clients can follow a certificate's file to an authority that they know.

require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      class CertificateChain
        # Where a public authority says that its own certificate can be had (RFC 5280 section
        # 4.2.2.1).
        ISSUERS = /CA Issuers/.freeze
        private_constant :ISSUERS

        # @param env [Hash, ENV]
        # @return [Boolean] whether this machine has certificates of authorities
        def self.authorities?(env = ENV)
          file = env.fetch(OpenSSL::X509::DEFAULT_CERT_FILE_ENV, OpenSSL::X509::DEFAULT_CERT_FILE)
          folders = env.fetch(OpenSSL::X509::DEFAULT_CERT_DIR_ENV, OpenSSL::X509::DEFAULT_CERT_DIR)
          (File.file?(file) && !File.empty?(file)) ||
            folders.split(File::PATH_SEPARATOR).any? { |one| Dir.exist?(one) && !Dir.empty?(one) }
        end

        # @param identity [TLS::Identity]
        # @return [Boolean] whether clients that want a subjectAltName find none
        def self.nameless?(identity)
          identity.certificates.first.extensions.none? { |one| one.oid == "subjectAltName" }
        end

        # @param identity [TLS::Identity]
        # @param now [Time]
        # @param store [OpenSSL::X509::Store] what clients trust: by default, what this machine does
        # @param authorities [Boolean] whether that is anything
        def initialize(identity, now, store: OpenSSL::X509::Store.new.tap(&:set_default_paths),
                       authorities: CertificateChain.authorities?)
          @identity = identity
          @file = identity.files.cert
          @now = now
          @store = store
          @authorities = authorities
        end

        # @return [Array<Finding>]
        def findings
          [broken || itself || unknown, outdated].compact
        end

        private

        def certificates
          @identity.certificates
        end

        def signed?(certificate, authority)
          certificate.issuer == authority.subject && certificate.verify(authority.public_key)
        rescue OpenSSL::PKey::PKeyError, OpenSSL::X509::CertificateError
          false
        end

        def broken
          place = certificates.each_cons(2).find_index { |one, next_one| !signed?(one, next_one) }
          return unless place

          Finding.of(:warning, "certificate-chain",
                     "#{@file}: its certificate number #{place + 2} has not signed the one " \
                     "before it: clients may refuse it",
                     "put them in order, each before the one that has signed it, as " \
                     "fullchain.pem has them")
        end

        def itself
          return unless certificates.one? && signed?(certificates.first, certificates.first)
          return if trusted?(certificates.first)

          Finding.of(:note, "certificate-chain",
                     "the certificate #{@file} has signed itself: clients refuse it unless they " \
                     "are told of it", "have one issued by an authority that your clients know")
        end

        def unknown
          last = certificates.last
          return if trusted?(last)
          return untold(last) unless @authorities

          public_authority = last.extensions.any? { |one| one.value.match?(ISSUERS) }
          name = last.issuer.to_utf8
          return private_authority(name) unless public_authority

          Finding.of(:warning, "certificate-chain",
                     "#{@file} is incomplete: it ends before #{name}, and clients do not have that",
                     "append the certificates between yours and the authority's (fullchain.pem)")
        end

        def untold(last)
          Finding.of(:note, "certificate-chain",
                     "this machine has no certificates of authorities (package " \
                     "ca-certificates): whether clients know #{last.issuer.to_utf8}, at which " \
                     "#{@file} ends, cannot be told",
                     "check it on a machine that has them")
        end

        def private_authority(name)
          Finding.of(:note, "certificate-chain",
                     "#{@file} ends at #{name}, which this machine does not trust",
                     "nothing, where your clients know that authority; else append the " \
                     "certificates between yours and one that they know")
        end

        # Dates are another finding.
        def trusted?(last)
          @store.time = [last.not_before, [@now, last.not_after].min].max
          @store.verify(last)
        end

        # The server's own is told by another rule.
        def outdated
          place = certificates.drop(1).find_index { |one| @now > one.not_after }
          return unless place

          Finding.of(:serious, "certificate-expiry",
                     "#{@file}: its certificate number #{place + 2} expired on " \
                     "#{certificates[place + 1].not_after.getutc.strftime("%Y-%m-%d")}; clients " \
                     "refuse it", "append the authority's new certificate in its place")
        end
      end
    end
  end
end
