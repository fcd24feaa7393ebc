# frozen_string_literal: true

require "json"

# What one user does in Campfire: pages and actions in a room of its own, with a WebSocket open to
# see what comes over ActionCable.
class CampfireVisit
  BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " \
            "Chrome/130.0.0.0 Safari/537.36"
  OLD_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " \
                "Chrome/90.0.0.0 Safari/537.36"
  TEXT = ("Größe\n" * 20_000).b.freeze
  BOT = "2-aaaabbbbcccc" # of inside/campfire_seed.rb
  NO_COOKIE = { "Cookie" => "a=b" }.freeze
  STREAM = { "Accept" => "text/vnd.turbo-stream.html, text/html" }.freeze

  # What {Alike} replaces besides.
  RULES = [
    [%r{[\w+/=%-]{20,}--\h{40,64}}, "SIGNED"], [/\$2a\$\d\d\$[\w.\/]{53}/, "BCRYPT"],
    [/([?&;]v=)\d{14}\b/, '\1TIME'], [/(?<![\h-])1[789]\d{11}(?!\h)/, "EPOCH_MS"],
    [/(?<![\h-])1[789]\d{8}(?!\h)/, "EPOCH"],
    [%r{\b(?:[a-z0-9]{2}/[a-z0-9]{2}/)?[a-z0-9]{28}\b}, "BLOB"],
    [/\b[A-Za-z0-9]{24}\b/, "TOKEN24"], [%r{(/qr_code/)[\w=%-]+}, '\1URL'],
    [%r{-[A-Za-z0-9]{12}(/messages)}, '-BOT\1'],
    [/(bot_token=)[A-Za-z0-9]{12}\b/, '\1BOT']
  ].freeze

  # @param visitor [Visitor] with the headers of {.headers}
  # @param number [Integer] of the user
  # @param alone [Boolean] whether nobody else is there: what all see may change
  def initialize(visitor, number, alone:)
    @visitor = visitor
    @number = number
    @alone = alone
  end

  # @return [Hash] of every request; an address for each, as logins are counted by it
  def self.headers(number)
    { "User-Agent" => BROWSER, "X-Forwarded-For" => "203.0.113.#{number}" }
  end

  # @return [Visitor]
  def call
    @visitor.visit do
      strangers
      log_in
      cable do
        messages
        boosts
        attachments
        presence
      end
      rooms
      pages
      account if @alone
      faults
      leave
    end
  end

  private

  def get(...) = @visitor.get(...)
  def post(...) = @visitor.post(...)

  def strangers
    get("/", status: 302)
    page = get("/session/new", status: 200)
    %w[/up /webmanifest.json /service-worker.js /session/new].each { |one| get(one, status: 200) }
    assets(page)
    get("/account/logo?v=1", status: 200)
    get("/account/logo?size=small", { "Range" => "bytes=1-20" })
    get("/qr_code/aHR0cDovL2V4YW1wbGUubmV0Lw==", status: 200)
    get("/first_run", status: 302)
    get("/join/wrong", status: 404)
    get("/join/aaaa-bbbb-cccc", status: 200)
    get("/session/new", { "User-Agent" => OLD_BROWSER })
    handshake("", @visitor.url)
  end

  def assets(page)
    [/href="([^"]+\.css)"/, /href="([^"]+\.js)"/].each do |pattern|
      path = page.find(pattern)
      file = get(path, status: 200)
      get(path, { "If-Modified-Since" => file["last-modified"] }, status: 304)
      get(path, { "Range" => "bytes=5-24" }, status: 206)
    end
  end

  def log_in
    get("/session/new", status: 200)
    post("/session", { "email_address" => "nobody@example.net", "password" => "x" }, status: 401)
    post("/session", credentials.merge("password" => "wrong"), status: 401)
    post("/session", credentials, token: "forged", status: 422)
    post("/session", credentials, status: 302)
    page = get(get("/", status: 302)["location"].sub(%r{\Ahttp://[^/]+}, ""), status: 200)
    sidebar = get("/users/me/sidebar", status: 200)
    @room = sidebar.body[%r{/rooms/(\d+)"[^>]*>(?:(?!</a>).)*Room #{@number}}m, 1] ||
            sidebar.body.scan(%r{/rooms/(\d+)}).flatten.uniq.last
    page
  end

  def credentials
    { "email_address" => "user#{@number}@example.net", "password" => "secret#{@number}" }
  end

  # Opens the WebSocket for what the block does, and writes down what came.
  def cable
    page = get("/rooms/#{@room}", status: 200)
    @cable = Cable.new(@visitor.url, @visitor.cookies)
    @cable.await("a welcome") { @cable.messages.any? }
    stream = page.find(/signed-stream-name="([^"]+)"/)
    @stream = @cable.subscribe("Turbo::StreamsChannel", signed_stream_name: stream)
    @typing = @cable.subscribe("TypingNotificationsChannel", room_id: @room)
    @cable.subscribe("RoomChannel", room_id: "999")
    @cable.subscribe("HeartbeatChannel")
    yield
  ensure
    @cable&.close
    # Who closes first is nobody's matter.
    seen("what came over the cable", @cable.messages.reject { |one| one["closed"] }) if @cable
  end

  # Writes down what is no answer to a request.
  def seen(step, messages)
    @visitor.answers << Visitor::Answer.new(step: step, status: 0, headers: {}, cookies: [],
                                            body: messages.map { |one| JSON.generate(one) }
                                                          .join("\n").b)
  end

  # What the application answers to a WebSocket that it does not take.
  def handshake(cookies, origin)
    one = Cable.new(@visitor.url, cookies, origin: origin)
    one.await("a refusal") { one.refused? }
    one.close
    seen("a WebSocket from #{origin}", [one.status, *one.messages])
  end

  # Does what the block does, and waits until so many more messages have come over the stream.
  def streamed(count = 1)
    before = on_stream
    answer = yield
    @cable.await("#{count} more after #{before}") { on_stream >= before + count }
    answer
  end

  def on_stream
    @cable.messages.count { |one| one["identifier"] == @stream && one["message"] }
  end

  def messages
    say("hello from #{@number}")
    say("<div>Größe &amp; <strong>bold</strong> 🔥</div>")
    say("/play rimshot")
    45.times { |at| say("line #{at}") }
    page = get("/rooms/#{@room}/messages", status: 200)
    get("/rooms/#{@room}/messages", { "If-None-Match" => page["etag"] }, status: 304)
    ids = page.body.scan(%r{/rooms/#{@room}/@(\d+)}).flatten.uniq
    get("/rooms/#{@room}/messages?before=#{ids.first}", status: 200)
    get("/rooms/#{@room}/messages?after=#{ids.last}", status: 204)
    get("/rooms/#{@room}/@#{ids[5]}", status: 200)
    get("/rooms/#{@room}/messages/#{ids[5]}", status: 200)
    change(ids)
  end

  def say(text)
    streamed do
      post("/rooms/#{@room}/messages", { "message[body]" => text,
                                         "message[client_message_id]" => SecureRandom.uuid },
           headers: STREAM, status: 200)
    end
  end

  def change(ids)
    @message = ids.last
    path = "/rooms/#{@room}/messages/#{@message}"
    get("#{path}/edit", status: 200)
    streamed { post(path, { "message[body]" => "changed" }, verb: "patch", status: 302) }
    streamed { post("/rooms/#{@room}/messages/#{ids[6]}", verb: "delete", headers: STREAM) }
    get("/rooms/#{@room}/messages/#{ids[6]}", status: 404)
    get("/rooms/#{@room}/refresh?since=1000", STREAM)
  end

  def boosts
    path = "/messages/#{@message}/boosts"
    get("#{path}/new", status: 200)
    streamed { post(path, { "boost[content]" => "👍" }, status: 302) }
    boost = get(path, status: 200).find(%r{/boosts/(\d+)})
    streamed { post("#{path}/#{boost}", verb: "delete", headers: STREAM) }
    post(path, { "boost[content]" => "" })
  end

  def attachments
    file = { "message[attachment]" => ["größe.txt", "text/plain", TEXT] }
    answer = streamed do
      @visitor.upload("/rooms/#{@room}/messages",
                      { "message[client_message_id]" => SecureRandom.uuid }, file,
                      status: 200, headers: STREAM)
    end
    path = answer.body[%r{(/rails/active_storage/[^"]+)}, 1]
    return unless path

    path = CGI.unescapeHTML(path)
    stored = get(path)
    return unless stored["location"]

    path = stored["location"].sub(%r{\Ahttp://[^/]+}, "")
    file = get(path, status: 200)
    ["bytes=10-19", "bytes=-5", "bytes=100000000-"].each { |one| get(path, { "Range" => one }) }
    get(path, { "If-Modified-Since" => file["last-modified"] }, status: 304)
    get(path.sub(/--\h{5}/, "--00000"), status: 404)
  end

  def presence
    @cable.perform(@typing, "start")
    @cable.await("the typing") { typing("start") }
    @cable.perform(@typing, "stop")
    @cable.await("the end of typing") { typing("stop") }
  end

  def typing(action)
    @cable.messages.any? do |one|
      one["identifier"] == @typing && one.dig("message", "action") == action
    end
  end

  def rooms
    get("/rooms/closeds/new", status: 200)
    made = post("/rooms/closeds", { "room[name]" => "Second of #{@number}",
                                    "user_ids[]" => own_id }, status: 302)
    room = made["location"][%r{/rooms/(\d+)}, 1]
    get("/rooms/#{room}", status: 200)
    get("/rooms/closeds/#{room}/edit", status: 200)
    post("/rooms/closeds/#{room}", { "room[name]" => "Renamed #{@number}",
                                     "user_ids[]" => own_id }, verb: "patch", status: 302)
    get("/rooms/#{room}/involvement", status: 200)
    post("/rooms/#{room}/involvement", { "involvement" => "everything" }, verb: "put", status: 302)
    get("/rooms/#{room}/settings")
    nobody(room)
    post("/rooms/#{room}", verb: "delete", status: 302)
    get("/rooms/#{room}", status: 302)
    get("/rooms/directs/new", status: 200)
  end

  # Somebody without a session whose key is none.
  def nobody(room)
    { "text/plain" => "beep", "application/json" => "{" }.each do |media, body|
      @visitor.send_bytes(Net::HTTP::Post, "/rooms/#{room}/0-x/messages", body, media, NO_COOKIE)
    end
  end

  # Speaks by its key, in the room that all are in.
  def bot
    path = "/rooms/1/#{BOT}/messages"
    @visitor.send_bytes(Net::HTTP::Post, path, "beep 🤖", "text/plain", NO_COOKIE, status: 201)
    @visitor.send_bytes(Net::HTTP::Post, path, JSON.generate(beep: 1), "application/octet-stream",
                        NO_COOKIE, status: 201)
    @visitor.upload(path, {}, { "attachment" => ["bot.txt", "text/plain", TEXT] },
                    headers: NO_COOKIE, status: 201)
    get("/rooms/1", status: 200)
  end

  def own_id
    @own_id ||= get("/users/me/profile", status: 200).find(/current-user-id" content="(\d+)"/)
  end

  def pages
    get("/users/#{own_id}", status: 200)
    avatar = get("/users/me/profile", status: 200).find(%r{src="(/users/[^"]+/avatar[^"]*)"})
    image = get(avatar, status: 200)
    get(avatar, { "If-None-Match" => image["etag"] }, status: 304)
    get("/users/wrong/avatar", status: 404)
    bio = @alone ? "Größe" : ""
    post("/users/me/profile", { "user[bio]" => bio }, verb: "patch", status: 302)
    get("/users/me/profile", status: 200)
    get("/users/me/push_subscriptions", status: 200)
    post("/users/me/push_subscriptions",
         { "push_subscription[endpoint]" => "http://127.0.0.1/#{@number}",
           "push_subscription[p256dh_key]" => "k", "push_subscription[auth_key]" => "a" },
         status: 200)
    search
    get("/autocompletable/users.json?query=User%20#{@number}", status: 200)
    post("/unfurl_link", { "url" => "http://127.0.0.1:1/" }, status: 204)
  end

  def search
    post("/searches", { "q" => "hello" }, status: 302)
    get("/searches?q=hello", status: 200)
    get("/searches?q=nothing+of+it", status: 200)
    post("/searches/clear", verb: "delete", status: 302)
  end

  def account
    bot
    get("/account/edit", status: 200)
    post("/account", { "account[name]" => "Tests" }, verb: "patch", status: 302)
    get("/account/bots/new", status: 200)
    post("/account/bots", { "user[name]" => "Bot #{@number}" }, status: 302)
    get("/account/bots", status: 200)
    get("/account/users", status: 200)
    get("/account/custom_styles/edit", status: 200)
    post("/account/custom_styles", { "account[custom_styles]" => "body { color: #123456 }" },
         verb: "patch", status: 302)
    get("/account/edit", status: 200)
    get("/rooms/opens/new", status: 200)
    post("/rooms/opens", { "room[name]" => "Open #{@number}" }, status: 302)
    get("/users/me/sidebar", status: 200)
  end

  def faults
    get("/rooms/999", status: 302)
    get("/nowhere", status: 404)
    get("/rooms/#{@room}/messages/999", status: 404)
    get("/users/999", status: 404)
    get("/qr_code/%FF")
    get("/searches?q=%FF")
    post("/rooms/#{@room}/messages", { "message[body]" => "forged" }, token: nil, status: 422)
    post("/rooms/#{@room}/messages", {}, status: 400)
    @visitor.send_bytes(Net::HTTP::Put, "/session", "x", "text/plain")
    @visitor.send_bytes(Net::HTTP::Post, "/session", "{", "application/json")
    @visitor.head("/session/new")
    handshake(@visitor.cookies, "http://elsewhere.example")
  end

  def leave
    post("/session", verb: "delete", status: 302)
    get("/", status: 302)
    get("/session/new", status: 200)
    # Ten in three minutes, with those of #log_in.
    answers = Array.new(9) { post("/session", credentials.merge("password" => "wrong")) }
    raise Visitor::Refused, "the limit of logins is not there" unless answers.last.status == 429
  end
end
