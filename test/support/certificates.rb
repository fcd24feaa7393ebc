# frozen_string_literal: true

# A certificate authority of a test's own, and what it signs: certificates and keys of every kind a
# server may be given, also broken ones, as objects or as files.

require "fileutils"
require "openssl"
require "tmpdir"

class Certificates
  # A certificate with its key, as a server has them.
  Issued = Struct.new(:certificate, :key, :chain) do
    # @return [String] PEM, with the certificates between it and the authority
    def pem
      [certificate, *chain].map(&:to_pem).join
    end

    # @return [String] PKCS#8
    def key_pem
      key.private_to_pem
    end

    # Writes NAME.pem and NAME.key.
    # @return [Array(String, String)] their paths
    def write(folder, name = "server")
      paths = [File.join(folder, "#{name}.pem"), File.join(folder, "#{name}.key")]
      File.write(paths.first, pem)
      File.write(paths.last, key_pem)
      paths
    end
  end

  DAY_S = 86_400
  KEYS = {
    ec: -> { OpenSSL::PKey::EC.generate("prime256v1") },
    rsa: -> { OpenSSL::PKey::RSA.new(2048) },
    weak: -> { OpenSSL::PKey::RSA.new(512) },
    ed25519: -> { OpenSSL::PKey.generate_key("ED25519") }
  }.freeze

  class << self
    # Keys are made once in a process, since RSA ones are slow to make.
    # @param kind [Symbol] of KEYS
    # @return [OpenSSL::PKey::PKey]
    def key(kind)
      @keys ||= {}
      @keys[kind] ||= KEYS.fetch(kind).call
    end

    # Yields a new folder, which is removed afterwards.
    def in_folder(&block)
      Dir.mktmpdir("certificates", &block)
    end
  end

  # @return [OpenSSL::X509::Certificate] of the authority
  attr_reader :authority

  def initialize
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @serial = 0
    @authority = signed("test authority", @key, ca: true, by: nil)
  end

  # @return [String] PEM, for a client's `ca_file`
  def ca_pem
    authority.to_pem
  end

  # @return [OpenSSL::X509::Store] that trusts the authority alone
  def store
    OpenSSL::X509::Store.new.tap { |store| store.add_cert(authority) }
  end

  # @param names [Array<String>] host names and addresses; empty: there is no subjectAltName
  # @param key [Symbol, OpenSSL::PKey::PKey] a kind of KEYS, or a key
  # @param common_name [String]
  # @param from [Time]
  # @param till [Time]
  # @param intermediate [Boolean] whether another authority stands between
  # @return [Issued]
  def issue(*names, key: :ec, common_name: names.first || "unnamed", from: Time.now - DAY_S,
            till: Time.now + (30 * DAY_S), intermediate: false)
    key = self.class.key(key) if key.is_a?(Symbol)
    between = intermediate ? middle : nil
    signed = signed(common_name, key, names: names, dates: [from, till],
                                      by: between || [authority, @key])
    Issued.new(signed, key, between ? [between.first] : [])
  end

  private

  # An authority that the authority has signed.
  def middle
    key = self.class.key(:ec)
    [signed("test intermediate", key, ca: true, by: [authority, @key]), key]
  end

  # by: the certificate and key that sign; nil: it signs itself.
  def signed(common_name, key, by:, names: [], ca: false,
             dates: [Time.now - DAY_S, Time.now + (365 * DAY_S)])
    made = unsigned(common_name, key, dates)
    made.issuer = by ? by.first.subject : made.subject
    add_extensions(made, by ? by.first : made, names, ca)
    made.sign(by ? by.last : key, OpenSSL::Digest.new("SHA256"))
  end

  def unsigned(common_name, key, dates)
    OpenSSL::X509::Certificate.new.tap do |made|
      made.version = 2
      made.serial = (@serial += 1)
      made.subject = OpenSSL::X509::Name.new([["CN", common_name]])
      made.public_key = key
      made.not_before, made.not_after = dates
    end
  end

  def add_extensions(made, issuer, names, authority)
    factory = OpenSSL::X509::ExtensionFactory.new(issuer, made)
    basic = factory.create_extension("basicConstraints", "CA:#{authority.to_s.upcase}", true)
    made.add_extension(basic)
    made.add_extension(factory.create_extension("subjectKeyIdentifier", "hash"))
    return if names.empty?

    alternatives = names.map { |name| "#{name.match?(/\A[\d.]+\z|:/) ? "IP" : "DNS"}:#{name}" }
    made.add_extension(factory.create_extension("subjectAltName", alternatives.join(",")))
  end
end
