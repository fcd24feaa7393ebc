# frozen_string_literal: true

require "resolv"
require "hooks/services/dns"
require "hooks/services/holding"

HookTable.library "resolv" do
  address = HookServices::Dns::ADDRESS
  name = HookServices::Dns::NAME
  text = Resolv::DNS::Resource::IN::TXT
  dns = ->(stage, **options) { stage.instance_eval { holding(HookServices::Dns.new(**options)) } }

  {
    "Resolv::DNS#getaddress" => [->(client) { client.getaddress(name).to_s }, address],
    "Resolv::DNS#getaddresses" => [->(client) { client.getaddresses(name).map(&:to_s) }, [address]],
    "Resolv::DNS#each_address" => [->(client) {
      [].tap { |all| client.each_address(name) { |one| all << one.to_s } }
    }, [address]],
    "Resolv::DNS#getname" => [->(client) { client.getname(address).to_s }, name],
    "Resolv::DNS#getnames" => [->(client) { client.getnames(address).map(&:to_s) }, [name]],
    "Resolv::DNS#each_name" => [->(client) {
      [].tap { |all| client.each_name(address) { |one| all << one.to_s } }
    }, [name]],
    "Resolv::DNS#getresource" => [->(client) { client.getresource(name, text).data }, "text"],
    "Resolv::DNS#getresources" => [->(client) {
      client.getresources(name, text).map(&:data)
    }, ["text"]],
    "Resolv::DNS#each_resource" => [->(client) {
      [].tap { |all| client.each_resource(name, text) { |one| all << one.data } }
    }, ["text"]],
    "Resolv#getaddress" => [->(client) { Resolv.new([client]).getaddress(name) }, address],
    "Resolv#getaddresses" => [->(client) { Resolv.new([client]).getaddresses(name) }, [address]],
    "Resolv#each_address" => [->(client) {
      [].tap { |all| Resolv.new([client]).each_address(name) { |one| all << one } }
    }, [address]],
    "Resolv#getname" => [->(client) { Resolv.new([client]).getname(address) }, name],
    "Resolv#getnames" => [->(client) { Resolv.new([client]).getnames(address) }, [name]],
    "Resolv#each_name" => [->(client) {
      [].tap { |all| Resolv.new([client]).each_name(address) { |one| all << one } }
    }, [name]]
  }.each do |method, (call, value)|
    row method do
      service = dns.call(self)
      client = service.client
      inside { call.call(client) }
      gives value
    end
  end

  {
    "getaddress" => [name, address],
    "getaddresses" => [name, [address]],
    "getname" => [address, name],
    "getnames" => [address, [name]]
  }.each do |method, (question, value)|
    row "Resolv.#{method}" do
      service = dns.call(self)
      Resolv::DefaultResolver.replace_resolvers([service.client])
      inside { Resolv.public_send(method, question) }
      gives value
    end
  end

  {
    "each_address" => [name, address],
    "each_name" => [address, name]
  }.each do |method, (question, value)|
    row "Resolv.#{method}" do
      service = dns.call(self)
      Resolv::DefaultResolver.replace_resolvers([service.client])
      inside { [].tap { |all| Resolv.public_send(method, question) { |one| all << one } } }
      gives [value]
    end
  end

  row "Resolv::DNS#getaddress", "a long answer, by TCP" do
    service = dns.call(self, hold: :tcp, truncate: true)
    client = service.client
    inside { client.getaddress(name).to_s }
    gives address
  end

  row "Resolv::DNS#getaddress", "no answer in time" do
    service = HookServices::Dns.new
    client = service.client.tap { |made| made.timeouts = 0.5 }
    inside { client.getaddress(name) }
    reached { service.reached? }
    elapses
    raises Resolv::ResolvError
  end

  row "Resolv::DNS#getaddress", "two at once" do
    service = dns.call(self)
    client = service.client
    other = nil
    companion { other = client.getaddress("other.test").to_s }
    inside { client.getaddress(name).to_s }
    gives { |found| found == address && other == address }
  end

  row "TCPSocket.new", "with resolv-replace" do
    require "hooks/services/bundled"
    HookServices::Bundled.require("resolv-replace", gem: "resolv-replace")
    peer = HookServices::Peer.new { |socket| socket.write("hello") }
    service = dns.call(self)
    service.address = peer.host
    Resolv::DefaultResolver.replace_resolvers([service.client])
    inside { TCPSocket.new("peer.test", peer.port).read }
    gives "hello"
  end
end
