# frozen_string_literal: true

require "hooks/services/bundled"
require "hooks/services/holding"
require "hooks/services/smtp"

HookTable.library "net/smtp" do
  text = "Subject: hook\r\n\r\n.dots\r\n"
  settings = { starttls: false }
  smtp = lambda do |service, **options, &block|
    HookServices::Bundled.require("net/smtp", gem: "net-smtp")
    Net::SMTP.start(service.host, service.port, **settings, **options, &block)
  end

  row "Net::SMTP.start" do
    service = holding(HookServices::Smtp.new(hold: :greeting))
    inside { smtp.call(service) { |session| session.capable_plain_auth? } }
    gives true
  end

  row "Net::SMTP.start", "EHLO" do
    service = holding(HookServices::Smtp.new(hold: "EHLO"))
    inside { smtp.call(service) { |session| session.capable_plain_auth? } }
    gives true
  end

  row "Net::SMTP.start", "AUTH" do
    service = holding(HookServices::Smtp.new(hold: "AUTH"))
    inside { smtp.call(service, user: "user", secret: "secret", authtype: :plain, &:started?) }
    gives true
  end

  row "Net::SMTP#enable_starttls", "TLS handshake" do
    HookServices::Bundled.require("net/smtp", gem: "net-smtp")
    service = holding(HookServices::Smtp.new(hold: :tls))
    inside do
      session = Net::SMTP.new(service.host, service.port)
      session.enable_starttls(HookServices::Certificate.client_context)
      session.start { |started| started.mailfrom("a@host.test").status }
    end
    gives "250"
  end

  row "Net::SMTP#enable_tls", "TLS handshake" do
    HookServices::Bundled.require("net/smtp", gem: "net-smtp")
    service = holding(HookServices::Smtp.new(hold: :handshake, tls: true))
    inside do
      session = Net::SMTP.new(service.host, service.port)
      session.enable_tls(HookServices::Certificate.client_context)
      session.start { |started| started.mailfrom("a@host.test").status }
    end
    gives "250"
  end

  { "Net::SMTP#mailfrom" => ["MAIL", ->(session) { session.mailfrom("a@host.test") }],
    "Net::SMTP#rcptto" => ["RCPT", ->(session) { session.rcptto("b@host.test") }],
    "Net::SMTP#rset" => ["RSET", ->(session) { session.rset }],
    "Net::SMTP#finish" => ["QUIT", ->(session) { session.finish }] }.each do |name, (verb, call)|
    row name do
      service = holding(HookServices::Smtp.new(hold: verb))
      session = smtp.call(service)
      inside { call.call(session) }
      gives { |answer| ["250", "221"].include?(answer.status) }
    end
  end

  { "DATA" => "before the text", :accepted => "after the text" }.each do |point, variant|
    row "Net::SMTP#send_message", variant, also: %w[Net::SMTP#data] do
      service = holding(HookServices::Smtp.new(hold: point))
      inside do
        smtp.call(service) do |session|
          session.send_message(text, "a@host.test", "b@host.test").status
        end
      end
      gives { |status| status == "250" && service.seen.include?(text) }
    end
  end

  row "Net::SMTP#open_message_stream" do
    service = HookServices::Smtp.new
    reader, writer = IO.pipe
    inside do
      smtp.call(service) do |session|
        session.open_message_stream("a@host.test", "b@host.test") do |stream|
          stream.puts(reader.gets)
        end
      end
    end
    event { writer.puts("late") }
    gives { service.seen.include?("late\r\n") }
  end

  row "Net::SMTP#read_timeout" do
    service = HookServices::Smtp.new(hold: "RSET")
    session = smtp.call(service)
    session.read_timeout = 0.5
    inside { session.rset }
    reached { service.reached? }
    elapses
    raises Net::ReadTimeout
  end
end
