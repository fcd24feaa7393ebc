# frozen_string_literal: true

require "hooks/services/bundled"
require "hooks/services/holding"
require "hooks/services/pop"

HookTable.library "net/pop" do
  start = lambda do |service|
    HookServices::Bundled.require("net/pop", gem: "net-pop")
    Net::POP3.start(service.host, service.port, "user", "secret")
  end

  { "Net::POP3.start" => :greeting, "Net::POP3.start (PASS)" => "PASS" }.each do |name, point|
    row name do
      service = holding(HookServices::Pop.new(hold: point))
      inside { start.call(service).started? }
      gives true
    end
  end

  {
    "Net::POP3#mails" => ["LIST", ->(pop) { pop.mails.size }, 1],
    "Net::POPMail#pop" => ["RETR", ->(pop) { pop.mails.first.pop }, HookServices::Pop::MESSAGE],
    "Net::POPMail#delete" => ["DELE", ->(pop) { pop.mails.first.tap(&:delete).deleted? }, true],
    "Net::POP3#finish" => ["QUIT", ->(pop) { pop.finish.then { pop.started? } }, false]
  }.each do |name, (verb, call, value)|
    row name do
      service = holding(HookServices::Pop.new(hold: verb))
      pop = start.call(service)
      inside { call.call(pop) }
      gives value
    end
  end
end
