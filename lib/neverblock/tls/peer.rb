# frozen_string_literal: true

# The certificate that a client of TLS has shown, as an object, for env["puma.peercert"]: what
# applications of Puma read. Puma makes one for each connection. Here one is made for each
# certificate, and the last of them are kept.

module NeverBlock
  module TLS
    KEPT = 64
    private_constant :KEPT

    @peers = {}
    @peers_lock = Mutex.new

    # @param pem [String]
    # @return [OpenSSL::X509::Certificate, nil] nil: this Ruby has no openssl, or cannot read it
    def self.peer(pem)
      @peers_lock.synchronize do
        found = @peers.delete(pem) || certificate(pem)
        @peers.shift if @peers.size >= KEPT
        @peers[pem] = found # the last used comes last
      end
    end

    def self.certificate(pem)
      require "openssl"
      OpenSSL::X509::Certificate.new(pem)
    rescue LoadError, StandardError
      nil
    end
    private_class_method :certificate
  end
end
