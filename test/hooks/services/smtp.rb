# frozen_string_literal: true

# SMTP (RFC 5321). Holds at :greeting, at a command by its name, or at :accepted (the message has
# come, its receipt is not confirmed).

require_relative "service"

module HookServices
  class Smtp < LineService
    private

    def greet
      reply(:greeting, "220 test ESMTP")
    end

    def answer(line)
      case verb = line[/\A\w+/].upcase
      when "EHLO" then reply(verb, "250-test", "250-AUTH PLAIN", "250 STARTTLS")
      when "AUTH" then reply(verb, "235 welcome")
      when "STARTTLS" then start_tls
      when "DATA" then data
      when "QUIT" then reply(verb, "221 bye") && :quit
      else reply(verb, "250 OK")
      end
    end

    def data
      reply("DATA", "354 go on")
      @seen << dotted
      reply(:accepted, "250 queued")
    end

    def start_tls
      reply("STARTTLS", "220 go on")
      hold_at(:tls)
      @tls = Certificate.server_context
      @socket = SelfSignedCertificate.accept(@socket, @tls)
      while (line = @socket.gets&.chomp)
        break if answer(line) == :quit
      end
      :quit
    end
  end
end
