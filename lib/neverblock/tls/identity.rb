# frozen_string_literal: true

# A certificate with its chain and its key, read from PEM files and checked. Messages of errors name
# the file, what was found in it, and how to mend it.

require "neverblock/tls/chain"
require "neverblock/tls/passphrase"
require "neverblock/tls/unusable"

module NeverBlock
  module TLS
    class Identity
      # What an address names: paths of PEM files, and where a passphrase comes from.
      # passphrase: [:env, NAME], [:command, LINE] or nil.
      Files = Struct.new(:cert, :key, :passphrase)

      # A host name (RFC 1035 section 2.3.4), also with a wildcard.
      HOST_NAME = /\A[\w*.-]{1,255}\z/.freeze
      private_constant :HOST_NAME

      # @return [Array<OpenSSL::X509::Certificate>] the server's first
      attr_reader :certificates
      # @return [Array<String>] host names that the certificate is for, in lower case
      attr_reader :names
      # @return [String] PEM, the server's certificate first
      attr_reader :chain
      # @return [String] PEM without a passphrase
      attr_reader :key
      # @return [Time]
      attr_reader :not_before, :not_after
      # @return [Files, nil] nil: it was made here
      attr_reader :files

      # Blocks while it reads, and for a passphrase's command.
      # @param files [Files]
      # @return [Identity]
      # @raise [Unusable]
      def self.read(files)
        require_openssl
        Reader.new(files).identity
      end

      # @param path [String]
      # @param what [String] what the file is, for the message
      # @return [String] its bytes
      # @raise [Unusable] it cannot be read
      def self.text_of(path, what)
        File.binread(path)
      rescue SystemCallError => e
        reason = { Errno::ENOENT => "there is no such file", Errno::EISDIR => "it is a folder",
                   Errno::EACCES => "user #{::Process.euid} may not read it" }
        raise Unusable, "cannot read the #{what} #{path}: " \
                        "#{reason.fetch(e.class) { e.message.lines.first.to_s.strip }}"
      end

      # @raise [Unusable] where this Ruby has no openssl
      def self.require_openssl
        require "openssl"
      rescue LoadError
        raise Unusable, "https needs the gem openssl, which reads certificates; this Ruby has none"
      end

      # @param certificates [Array<OpenSSL::X509::Certificate>] the server's first
      # @param key [OpenSSL::PKey::PKey]
      # @param files [Files, nil]
      def initialize(certificates, key, files: nil)
        certificate = certificates.first
        @certificates = certificates.dup.freeze
        @names = Identity.names_of(certificate)
        @chain = certificates.map(&:to_pem).join
        @key = key.private_to_pem
        @not_before = certificate.not_before
        @not_after = certificate.not_after
        @files = files
      end

      # @param now [Time]
      # @return [String, nil] a log line where clients refuse a file's certificate for its dates
      def warning(now = Time.now)
        return if files.nil?

        if now > not_after
          "the certificate #{files.cert} expired on #{day(not_after)}; clients refuse it"
        elsif now < not_before
          "the certificate #{files.cert} is valid from #{day(not_before)} on; clients refuse it " \
            "until then"
        end
      end

      # The names of the subjectAltName extension; the common name where there is none.
      # @param certificate [OpenSSL::X509::Certificate]
      # @return [Array<String>]
      def self.names_of(certificate)
        extension = certificate.extensions.find { |one| one.oid == "subjectAltName" }
        names = extension&.value&.scan(/DNS:([^,\s]+)/)&.flatten || common_names(certificate)
        names.map(&:downcase).uniq.grep(HOST_NAME)
      end

      def self.common_names(certificate)
        certificate.subject.to_a.filter_map { |oid, value, _| value if oid == "CN" }
      end
      private_class_method :common_names

      private

      def day(time)
        time.getutc.strftime("%Y-%m-%d %H:%M UTC")
      end

      # Reads one pair of files.
      class Reader
        KEY = /-----BEGIN (?<kind>(?:[A-Z]+ )?PRIVATE KEY)-----.*?-----END \k<kind>-----/m.freeze
        # PKCS#8 (RFC 7468 section 11), and the older form (RFC 1421 section 4.6.1.1).
        ENCRYPTED = /\A-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/.freeze
        # What a file without a passphrase is opened with: nil asks on the terminal.
        NO_PASSPHRASE = ""

        def initialize(files)
          @files = files
        end

        def identity
          text = Identity.text_of(@files.cert, "certificate")
          certificates = Chain.read(text, @files.cert)
          key = key_in(@files.cert == @files.key ? text : Identity.text_of(@files.key, "key"))
          check_fit(certificates, key)
          Identity.new(certificates, key, files: @files)
        end

        private

        # OpenSSL is given the key alone, since a file may hold parameters and certificates as well.
        def key_in(text)
          no_key(text) unless text.match?(Chain::KEY_BEGIN)
          block = text[KEY] or raise Unusable, "#{@files.key}: its private key has no end"
          block.match?(ENCRYPTED) ? encrypted_key(block) : plain_key(block)
        end

        def no_key(text)
          raise Unusable, "#{@files.key} has no private key in PEM (a line -----BEGIN PRIVATE " \
                          "KEY-----)#{"; it has a certificate" if text.include?(Chain::BEGIN_LINE)}"
        end

        def plain_key(block)
          OpenSSL::PKey.read(block, NO_PASSPHRASE)
        rescue OpenSSL::PKey::PKeyError
          raise Unusable, "#{@files.key}: its private key is broken"
        end

        def encrypted_key(block)
          passphrase = Passphrase.new(@files.key, @files.passphrase)
          OpenSSL::PKey.read(block, passphrase.read)
        rescue OpenSSL::PKey::PKeyError
          raise Unusable, "#{@files.key}: the passphrase from #{passphrase} does not open it"
        end

        def check_fit(certificates, key)
          place = certificates.index { |certificate| certificate.check_private_key(key) }
          return if place&.zero?

          wrong_order(place + 1) if place
          raise Unusable, "the key #{@files.key} does not belong to the certificate #{@files.cert}"
        end

        def wrong_order(number)
          raise Unusable, "#{@files.cert}: the certificate of the key is number #{number} in it; " \
                          "it has to be the first, before those that sign it"
        end
      end
      private_constant :Reader
    end
  end
end
