# frozen_string_literal: true

require "net/http"
require "open-uri"
require "hooks/services/bundled"
require "hooks/services/holding"
require "hooks/services/ftp"

HookTable.library "open-uri" do
  row "URI.open" do
    service = http
    inside { URI.open(service.uri("/a"), &:read) } # rubocop:disable Security/Open -- the row
    gives "GET /a: "
  end

  row "URI.open", "over TLS" do
    service = http(tls: true)
    inside { URI.parse(service.uri("/a")).open(ssl_verify_mode: OpenSSL::SSL::VERIFY_NONE, &:read) }
    gives "GET /a: "
  end

  row "URI.open", "through a proxy" do
    proxy = http
    inside { URI.parse("http://origin.test/a").open(proxy: proxy.uri, &:read) }
    gives "GET http://origin.test/a: "
  end

  row "URI.open", "ftp" do
    HookServices::Bundled.require("net/ftp", gem: "net-ftp")
    service = holding(HookServices::Ftp.new(hold: :data))
    inside { URI.parse("ftp://#{service.host}:#{service.port}/x;type=i").open(&:read) }
    gives HookServices::Ftp::TEXT
  end

  row "URI::HTTP#open", "a body in two parts" do
    service = http(hold: :body)
    inside { URI.parse(service.uri("/a")).open(&:read) }
    gives "GET /a: "
  end

  row "URI::HTTP#read" do
    service = http
    inside { URI.parse(service.uri("/a")).read }
    gives "GET /a: "
  end

  row "URI::HTTP#open", "read_timeout" do
    service = HookServices::Http.new(hold: :head)
    inside { URI.parse(service.uri("/a")).open(read_timeout: 0.5, &:read) }
    reached { service.reached? }
    elapses
    raises Net::ReadTimeout
  end
end
