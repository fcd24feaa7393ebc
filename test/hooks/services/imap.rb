# frozen_string_literal: true

# IMAP4rev1 (RFC 3501) as far as its client's waits need it. Holds at :greeting, a command by its
# name, or :idle (the client idles, nothing new has come).

require_relative "service"

module HookServices
  class Imap < LineService
    MESSAGE = "Subject: hook\r\n\r\nbody\r\n"
    UNTAGGED = {
      "CAPABILITY" => ["* CAPABILITY IMAP4rev1 IDLE"],
      "SELECT" => ["* 2 EXISTS", "* 0 RECENT", "* FLAGS (\\Seen)"],
      "SEARCH" => ["* SEARCH 1 2"],
      "FETCH" => ["* 1 FETCH (BODY[] {#{MESSAGE.bytesize}}", "#{MESSAGE})"],
      "STATUS" => ["* STATUS INBOX (MESSAGES 2)"],
      "LIST" => ["* LIST () \"/\" INBOX"],
      "LOGOUT" => ["* BYE until then"]
    }.freeze

    private

    def greet
      reply(:greeting, "* OK [CAPABILITY IMAP4rev1 IDLE] ready")
    end

    def answer(line)
      tag, verb, rest = line.split(" ", 3)
      verb = verb.upcase
      case verb
      when "IDLE" then idle
      when "APPEND" then literal(rest)
      end
      reply(verb, *UNTAGGED.fetch(verb, []), "#{tag} OK done")
      :quit if verb == "LOGOUT"
    end

    def idle
      reply("IDLE+", "+ idling")
      reply(:idle, "* 3 EXISTS")
      @seen << @socket.gets.chomp
    end

    def literal(arguments)
      reply("APPEND+", "+ go on")
      @seen << @socket.read(arguments[/\{(\d+)\}\z/, 1].to_i)
      @socket.gets
    end
  end
end
