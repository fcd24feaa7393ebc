# frozen_string_literal: true

# What one user does in Lobsters: pages and actions, feeds and JSON.
class LobstersVisit
  # What {Alike} replaces besides. Ids and tokens are random.
  RULES = [
    [%r{\$2a\$\d\d\$[\w./]{53}}, "BCRYPT"], [/\b[a-z_]+_[0-9a-hjkmnp-tv-z]{26}\b/, "TYPEID"],
    [%r{((?:/s|/stories|/c|/comments|/messages)/)[a-z0-9]{6}\b}, '\1SHORT'],
    [/((?:[_"#]c|story|comment|folder|archive|reply|message|delete)_)[a-z0-9]{6}\b/, '\1SHORT'],
    [/((?:shortid=|short_id":|short_id=|_id" value=|story_id" value=)"?)[a-z0-9]{6}\b/, '\1SHORT'],
    [/(value=")[a-z0-9]{6}(" autocomplete="off" type="hidden" name="[a-z_]*id")/, '\1SHORT\2'],
    [/\bjust now\b/, "A WHILE ago"],
    # Where a second has passed since the last visit, an element and empty lines around it.
    [%r{<div class="last_read_newest">Last Read</div>}, ""], [/\n\s*\n/, "\n"],
    [/\bhotness=-?[\d.]+/, "hotness=OF TIME"],
    [/((?:token|rss_token|session_token|mailing_list_token)=)[A-Za-z0-9]+/, '\1TOKEN'],
    [/background(?:-color)?: [^"]*"/, 'COLOUR"'], [/filter: invert\(100%\);/, "COLOUR"],
    [/(title="Traffic: )[^"]*/, '\1TRAFFIC'], [/\b1[789]\d{8}\b/, "EPOCH"]
  ].freeze

  # @param visitor [Visitor]
  # @param number [Integer] of the user
  def initialize(visitor, number)
    @visitor = visitor
    @user = "user#{number}"
    @password = "secret-#{@user}"
  end

  # @return [Visitor]
  def call
    @visitor.visit do
      strangers
      files
      log_in
      read
      story
      comments
      messages
      settings
      faults
      leave
    end
  end

  private

  def get(...) = @visitor.get(...)
  def post(...) = @visitor.post(...)

  def strangers
    %w[/ /page/2 /active /newest /recent /rss /hottest.json /newest.json /top /top/1y /comments
       /comments.rss /t/ruby /t/ruby.rss /t/ruby,c /categories/Computers /domains/example.net
       /users /users?by=karma /moderators /tags /tags.json /filters /about /privacy /chat
       /moderations /search /search?q=story&what=stories&order=newest /login /stats]
      .each { |one| get(one) }
    %w[/settings /stories/new /saved /messages /u/user10 /newest/user10 /top/rss]
      .each { |one| get(one) }
    @visitor.head("/newest")
    post("/filters", { "tags[c]" => "1" })
    get("/newest")
    get("/~#{@user}", status: 200)
    get("/~#{@user}.json", status: 200)
    get("/~nobody", status: 404)
  end

  def files
    page = get("/login", status: 200)
    [/href="([^"]+\.css)"/, /src="([^"]+\.js)"/, /href="([^"]+\.png)"/].each do |pattern|
      next unless (path = page.find(pattern))

      file = get(path, status: 200)
      get(path, { "If-Modified-Since" => file["last-modified"] }, status: 304)
      get(path, { "Range" => "bytes=5-24" }, status: 206)
    end
    get("/robots.txt")
  end

  def log_in
    get("/login", status: 200)
    post("/login", { "email" => @user, "password" => "wrong" }, status: 200)
    post("/login", { "email" => @user, "password" => "x" * 100 }, status: 200)
    get("/login", status: 200)
    post("/login", { "email" => "#{@user}@example.net", "password" => @password }, status: 302)
    get("/", status: 200)
  end

  def read
    %w[/newest /active /hidden /saved /upvoted/stories /upvoted/comments /threads /inbox/all
       /search?q=comment&what=comments&order=newest /filters /hats /invitations /newest.rss]
      .each { |one| get(one) }
    post("/filters", { "tags[web]" => "1" }, status: 302)
    get("/newest", status: 200)
    get("/~#{@user}/stories", status: 200)
    get("/~#{@user}/threads", status: 200)
    get("/~#{@user}/standing", status: 200)
  end

  def story
    get("/stories/new", status: 200)
    fields = [["story[title]", "Größe & <b>more</b> of #{@user}"],
              ["story[url]", "https://example.org/#{@user}"], ["story[tags][]", ""],
              ["story[tags][]", "ruby"], ["story[description]", ""]]
    post("/stories", [["story[title]", ""], *fields[1..]], status: 200)
    post("/stories/preview", fields, status: 200)
    made = post("/stories", fields, status: 302)
    @path = made["location"].sub(%r{\Ahttps?://[^/]+}, "")
    @story = @path[%r{/s/(\w+)}, 1]
    get(@path, status: 200)
    get("/s/#{@story}.json", status: 200)
    get("/s/#{@story}/another_title", status: 302)
    get("/stories/#{@story}/edit", status: 200)
    post("/stories/#{@story}", [["story[title]", "Changed by #{@user}"], *fields[1..]],
         verb: "patch", status: 302)
    post("/stories/check_url_dupe", { "story[url]" => "https://example.org/#{@user}" })
    votes
  end

  def votes
    other = get("/newest", status: 200).body.scan(/data-shortid="(\w+)"/).flatten
    other = (other - [@story]).last
    %w[upvote unvote hide unhide save flag].each { |one| post("/stories/#{other}/#{one}") }
    get("/saved", status: 200)
    get("/stories/#{other}/suggestions/new")
  end

  def comments
    2.times do |at|
      post("/comments", { "story_id" => @story, "comment" => "A *first* #{at}\n\n> größe" })
    end
    page = get("/s/#{@story}/changed_by_#{@user}")
    id = page.find(/id="c_(\w+)"/)
    get("/comments/#{id}")
    get("/comments/#{id}/reply")
    get("/comments/#{id}/edit")
    get("/c/#{id}")
    get("/c/#{id}.json")
    post("/comments/#{id}", { "comment" => "changed" }, verb: "patch")
    post("/comments/#{id}/delete")
    post("/comments/#{id}/undelete")
    post("/comments", { "story_id" => @story, "comment" => "seen", "preview" => "1" })
    get("/threads", status: 200)
  end

  def messages
    get("/messages", status: 200)
    fields = { "message[recipient_username]" => @user, "message[subject]" => "To me",
               "message[body]" => "Größe of a message that is long enough" }
    post("/messages", fields, status: 302)
    id = get("/messages", status: 200).find(%r{/messages/(\w{6})"})
    get("/messages/#{id}", status: 200)
    get("/messages.json")
    get("/messages/sent", status: 200)
    post("/messages", { **fields, "message[recipient_username]" => "nobody" }, status: 200)
    post("/messages/#{id}", verb: "delete", status: 302)
  end

  def settings
    # Without an account at Pushover this page of Lobsters raises: an error of the application.
    get("/settings", status: 500)
    post("/settings", { "user[password]" => "", "user[about]" => "Größe",
                        "user[homepage]" => "https://example.net/" }, status: 500)
    log_in # the session is another
    get("/settings/2fa", status: 200)
    post("/settings/2fa_auth", { "user[password]" => "wrong" }, status: 302)
    post("/settings/deactivate", { "user[i_am_sure]" => "0", "user[password]" => "" }, status: 302)
    get("/~#{@user}", status: 200)
  end

  def faults
    get("/s/zzzzzz", status: 404)
    get("/nowhere/at/all", status: 404)
    get("/t/nothing")
    get("/page/0")
    get("/page/abc")
    get("/search?q=%FF")
    get("/?unknown%5B=1")
    get("/mod")
    get("/jobs")
    post("/comments", { "story_id" => "zzzzzz", "comment" => "x" }, status: 400)
    @visitor.send_bytes(Net::HTTP::Put, "/stories", "x", "text/plain")
    @visitor.send_bytes(Net::HTTP::Post, "/stories/check_url_dupe", "{", "application/json")
    get("/newest", { "Accept" => "no/type; q=2, ,,," })
    get("/newest", { "X-Forwarded-For" => "1.2.3.4", "Client-Ip" => "5.6.7.8" })
  end

  def leave
    post("/stories", { "story[title]" => "forged" }, token: nil)
    get("/settings")
    post("/logout")
    get("/settings", status: 302)
  end
end
