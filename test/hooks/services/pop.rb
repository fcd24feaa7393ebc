# frozen_string_literal: true

# POP3 (RFC 1939). Holds at :greeting or at a command by its name.

require_relative "service"

module HookServices
  class Pop < LineService
    MESSAGE = "Subject: hook\r\n\r\nbody\r\n"

    private

    def greet
      reply(:greeting, "+OK test POP3")
    end

    def answer(line)
      case verb = line[/\A\w+/].upcase
      when "STAT" then reply(verb, "+OK 1 #{MESSAGE.bytesize}")
      when "LIST", "UIDL" then reply(verb, "+OK", "1 #{MESSAGE.bytesize}", ".")
      when "RETR", "TOP" then reply(verb, "+OK", "#{MESSAGE}.")
      when "QUIT" then reply(verb, "+OK bye") && :quit
      else reply(verb, "+OK")
      end
    end
  end
end
