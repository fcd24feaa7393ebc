# frozen_string_literal: true

require "hooks/services/bundled"
require "hooks/services/holding"
require "hooks/services/imap"

# The client has a thread that reads; the calls wait for a ConditionVariable, which it signals.
HookTable.library "net/imap" do
  connect = lambda do |service, **options|
    HookServices::Bundled.require("net/imap", gem: "net-imap")
    Net::IMAP.new(service.host, port: service.port, **options)
  end

  row "Net::IMAP.new" do
    service = holding(HookServices::Imap.new(hold: :greeting))
    inside { connect.call(service).greeting.name }
    gives "OK"
  end

  row "Net::IMAP.new", "TLS handshake" do
    service = holding(HookServices::Imap.new(hold: :handshake, tls: true))
    inside do
      connect.call(service, ssl: { cert_store: HookServices::Certificate.store }).greeting.name
    end
    gives "OK"
  end

  row "Net::IMAP.new", "open_timeout" do
    service = HookServices::FullBacklog.new
    HookServices::Bundled.require("net/imap", gem: "net-imap")
    reached { service.reached? }
    elapses
    inside { Net::IMAP.new(service.host, port: service.port, open_timeout: 1) }
    raises Net::OpenTimeout
  end

  {
    "login" => ["LOGIN", ->(imap) { imap.login("user", "secret").name }, "OK"],
    "capability" => ["CAPABILITY", ->(imap) { imap.capability.first }, "IMAP4REV1"],
    "noop" => ["NOOP", ->(imap) { imap.noop.name }, "OK"],
    "select" => ["SELECT", ->(imap) { imap.select("INBOX").name }, "OK"],
    "list" => ["LIST", ->(imap) { imap.list("", "*").first.name }, "INBOX"],
    "status" => ["STATUS", ->(imap) { imap.status("INBOX", ["MESSAGES"])["MESSAGES"] }, 2],
    "search" => ["SEARCH", ->(imap) { imap.search(["ALL"]).to_a }, [1, 2]],
    "fetch" => ["FETCH", ->(imap) {
      imap.fetch(1, "BODY[]").first.attr["BODY[]"]
    }, HookServices::Imap::MESSAGE],
    "append" => ["APPEND", ->(imap) {
      imap.append("INBOX", HookServices::Imap::MESSAGE).name
    }, "OK"],
    "logout" => ["LOGOUT", ->(imap) { imap.logout.name }, "OK"]
  }.each do |name, (verb, call, value)|
    row "Net::IMAP##{name}" do
      service = holding(HookServices::Imap.new(hold: verb))
      imap = connect.call(service)
      inside { call.call(imap) }
      gives value
    end
  end

  row "Net::IMAP#append", "before the text" do
    service = holding(HookServices::Imap.new(hold: "APPEND+"))
    imap = connect.call(service)
    inside { imap.append("INBOX", HookServices::Imap::MESSAGE).name }
    gives { |name| name == "OK" && service.seen.include?(HookServices::Imap::MESSAGE) }
  end

  row "Net::IMAP#idle", "until news come", also: %w[Net::IMAP#idle_done] do
    service = holding(HookServices::Imap.new(hold: :idle))
    imap = connect.call(service)
    news = []
    inside do
      imap.idle(10) do |response|
        news << response.data if response.name == "EXISTS"
        imap.idle_done if response.name == "EXISTS"
      end
      news
    end
    gives [3]
  end

  row "Net::IMAP#idle", "until its time is over" do
    service = HookServices::Imap.new(hold: :idle)
    imap = connect.call(service)
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    inside do
      imap.idle(0.5) { nil }
    ensure
      service.open
    end
    reached { service.reached? }
    event { service.open if Process.clock_gettime(Process::CLOCK_MONOTONIC) - started > 5 }
    gives { true }
  end

  row "Net::IMAP#disconnect" do
    imap = connect.call(HookServices::Imap.new)
    gate = Thread::Queue.new
    handling = Thread::Queue.new
    imap.add_response_handler { handling.tap { handling << true } && gate.pop }
    other_thread { imap.noop }
    handling.pop
    inside { imap.disconnect }
    event { gate << true }
    gives { imap.disconnected? }
  end
end
