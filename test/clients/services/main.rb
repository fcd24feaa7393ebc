# frozen_string_literal: true

# The process that serves the client libraries: plain Ruby, no scheduler. It writes its ports as one
# line of JSON. It ends with its standard input, so with the process that started it.
#
#   ruby test/clients/services/main.rb FOLDER     clients trust FOLDER/ca.pem

require "json"
require "stringio"
require_relative "../../support/self_signed_certificate"
require_relative "http"
require_relative "listener"

folder = ARGV.fetch(0)
certificate = SelfSignedCertificate.new
File.write(File.join(folder, "ca.pem"), certificate.pem)
http = ClientServices::Http.new(certificate.server_context)
converse = http.method(:converse)
refused = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

listening = lambda do |context = nil, &block|
  ClientServices::Listener.new(context: context, &block).port
end

$stdout.puts JSON.generate("http" => listening.call(&converse),
                           "https" => listening.call(certificate.server_context, &converse),
                           "stall" => listening.call { |socket| socket.read },
                           "drop" => listening.call { |socket| socket.readpartial(1) },
                           "refused" => refused, "ca" => File.join(folder, "ca.pem"))
$stdout.flush
$stdin.read
