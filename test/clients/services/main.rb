# frozen_string_literal: true

# The process that serves the client libraries: plain Ruby, no scheduler. Writes its ports as one line of JSON and ends when its standard input does, which is
# when whoever started it has ended.
#
#   ruby test/clients/services/main.rb FOLDER     FOLDER/ca.pem is what clients are to trust

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

$stdout.puts JSON.generate("http" => ClientServices::Listener.new(&converse).port,
                           "https" => ClientServices::Listener.new(context: certificate.server_context, &converse).port,
                           "stall" => ClientServices::Listener.new { |socket| socket.read }.port,
                           "drop" => ClientServices::Listener.new { |socket| socket.readpartial(1) }.port,
                           "refused" => refused, "ca" => File.join(folder, "ca.pem"))
$stdout.flush
$stdin.read
