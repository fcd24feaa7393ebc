# frozen_string_literal: true

# FTP (RFC 959) in passive mode. Holds at :greeting, a command by its name, :data (the data
# connection is there, nothing is sent or read on it) or :complete (the data have gone, the reply
# has not).

require_relative "service"

module HookServices
  class Ftp < LineService
    TEXT = "first\r\nsecond\r\n"
    REPLIES = {
      "USER" => "331 password?",
      "PASS" => "230 welcome",
      "TYPE" => "200 OK",
      "SIZE" => "213 15",
      "PWD" => '257 "/" is here',
      "CWD" => "250 OK",
      "MDTM" => "213 20260101000000",
      "NOOP" => "200 OK",
      "DELE" => "250 gone",
      "MKD" => '257 "/new" made',
      "RNFR" => "350 go on",
      "RNTO" => "250 OK"
    }.freeze

    private

    def greet
      reply(:greeting, "220 test FTP")
    end

    def answer(line)
      case verb = line[/\A\w+/].upcase
      when "PASV" then passive
      when "RETR", "LIST", "NLST" then transfer(verb) { |data| data.write(TEXT) }
      when "STOR" then transfer(verb) { |data| @seen << data.read }
      when "QUIT" then reply(verb, "221 bye") && :quit
      else reply(verb, REPLIES.fetch(verb, "502 what?"))
      end
    end

    def passive
      @data = TCPServer.new(HOST, 0)
      port = @data.addr[1]
      reply("PASV", "227 here (#{HOST.tr(".", ",")},#{port / 256},#{port % 256})")
    end

    def transfer(verb)
      reply(verb, "150 opening")
      data = @data.accept
      hold_at(:data)
      yield data
      data.close
      @data.close
      reply(:complete, "226 done")
    end
  end
end
