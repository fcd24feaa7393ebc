# frozen_string_literal: true

# A certificate for 127.0.0.1 and localhost that signs itself, made when a test's own TLS service
# asks for it.

require "openssl"

class SelfSignedCertificate
  # Serves TLS on an accepted socket.
  # @param context [OpenSSL::SSL::SSLContext]
  # @return [OpenSSL::SSL::SSLSocket] after the handshake; it closes the socket with itself
  def self.accept(socket, context)
    OpenSSL::SSL::SSLSocket.new(socket, context).tap do |tls|
      tls.sync_close = true
      tls.accept
    end
  end

  def initialize
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @certificate = sign(unsigned)
  end

  # Writes cert.pem and key.pem.
  # @param folder [String]
  # @return [String] what a bind of https has behind its `?`
  def write(folder)
    File.write(File.join(folder, "cert.pem"), pem)
    File.write(File.join(folder, "key.pem"), key_pem)
    "cert=#{folder}/cert.pem&key=#{folder}/key.pem"
  end

  # @return [String] for a client's `ca_file`
  def pem
    @certificate.to_pem
  end

  # @return [String] the private key
  def key_pem
    @key.to_pem
  end

  # @return [OpenSSL::X509::Store] with this certificate
  def store
    OpenSSL::X509::Store.new.tap { |store| store.add_cert(@certificate) }
  end

  # @return [OpenSSL::SSL::SSLContext] of a server
  def server_context
    OpenSSL::SSL::SSLContext.new.tap do |context|
      context.key = @key
      context.cert = @certificate
    end
  end

  # @return [OpenSSL::SSL::SSLContext] of a client that trusts this certificate alone
  def client_context
    OpenSSL::SSL::SSLContext.new.tap do |context|
      context.cert_store = store
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER
    end
  end

  private

  def unsigned
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.version = 2
      certificate.serial = 1
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
      certificate.public_key = @key
      certificate.not_before = Time.now - 3600
      certificate.not_after = Time.now + (30 * 86_400) # a server warns of fewer days
    end
  end

  def sign(certificate)
    factory = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
    names = "DNS:localhost,IP:127.0.0.1"
    certificate.add_extension(factory.create_extension("subjectAltName", names))
    certificate.add_extension(factory.create_extension("basicConstraints", "CA:TRUE", true))
    certificate.sign(@key, OpenSSL::Digest.new("SHA256"))
  end
end
