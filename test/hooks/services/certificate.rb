# frozen_string_literal: true

# The certificate of all services with TLS.

require_relative "../../support/self_signed_certificate"

module HookServices
  Certificate = SelfSignedCertificate.new
end
