# frozen_string_literal: true

require "erb"
require "json"

# What one user does in Redmine: pages and actions in a project of its own.
class RedmineVisit
  PNG = ["89504e470d0a1a0a0000000d4948445200000001000000010806000000" \
         "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"]
        .pack("H*").freeze
  CSV = "Subject;Description\nfrom a file;first\nalso from it;second\n"
  ID = /(\d+)\z/

  # What {Alike} replaces besides.
  RULES = [
    [/(name=\\?"[\w-]+-)\h{8}(\\?" method=)/, '\1RANDOM\2'], [/([?&;]key=)\h{40}/, '\1KEY'],
    [/\b\h{40}\b/, "HEX40"], [/\b(\d+\.)\h{64}\b/, '\1HEX64'],
    [%r{(imports/|filename=)\h{32}\b}, '\1HEX32'],
    [/(\?|&(?:amp;)?)timestamp=\d+/, '\1timestamp=TIME'], [/\b\d{12}_/, "TIME_"]
  ].freeze

  # @param visitor [Visitor]
  # @param number [Integer] of the user
  def initialize(visitor, number)
    @visitor = visitor
    @user = "user#{number}"
    @password = "secret#{number}"
    @project = "/projects/project#{number}"
    # Redmine keeps equal files once: each user has others.
    @bytes = Random.new(number).bytes(300_000)
    @image = PNG + @bytes[0, 1000]
  end

  # @return [Visitor]
  def call
    @visitor.visit do
      strangers
      assets
      log_in
      issues
      time_entries
      attachments
      archive_and_import
      wiki
      talk
      settings
      lists
      api
      faults
      leave
    end
  end

  private

  def get(...) = @visitor.get(...)
  def post(...) = @visitor.post(...)

  # The id at the end of where the application sends the browser.
  def made(answer) = answer["location"].to_s[/(\d+)(?:\z|[?#])/, 1]

  def strangers
    %w[/ /login /robots.txt /projects /issues /account/lost_password]
      .each { |one| get(one, status: 200) }
    get("/my/page", status: 302)
    @visitor.head("/projects", status: 200)
    get("/login")
    post("/login", { "username" => @user, "password" => "wrong" }, status: 200)
    post("/login", { "username" => "nobody", "password" => "" }, status: 200)
    post("/login", { "username" => @user, "password" => @password }, token: "forged", status: 422)
  end

  def assets
    page = get("/login", status: 200)
    [/href="([^"]+\.css)"/, /src="([^"]+\.js)"/, /href="([^"]+\.ico)"/].each do |pattern|
      path = page.find(pattern)
      file = get(path, status: 200)
      get(path, { "If-Modified-Since" => file["last-modified"] }, status: 304)
      @visitor.head(path, status: 200)
      get(path, { "Range" => "bytes=5-24" }, status: 206)
      get(path, { "Range" => "bytes=99999999-" }, status: 416)
      get(path, { "Accept-Encoding" => "gzip" }, status: 200)
    end
    get("/404.html")
    get("/assets/missing.css")
  end

  def log_in
    get("/login?back_url=%2Fmy%2Fpage", status: 200)
    post("/login", { "username" => @user, "password" => @password, "autologin" => "1",
                     "back_url" => "/my/page" }, status: 302)
    ["/my/page", "/my/account", "/my/password", @project, "#{@project}/issues",
     "#{@project}/settings"].each { |one| get(one, status: 200) }
  end

  def issues
    get("#{@project}/issues/new", status: 200)
    @fields = { "issue[tracker_id]" => "1", "issue[status_id]" => "1",
                "issue[priority_id]" => "2" }
    post("#{@project}/issues", { **@fields, "issue[subject]" => "" }, status: 200)
    @issue = new_issue("Größe & <b>bold</b>",
                       "issue[description]" => "*text*\n\n```ruby\nputs 1\n```")
    get("/issues/#{@issue}", status: 200)
    change("issue[notes]" => "a note", "issue[done_ratio]" => "40")
    page = get("/issues/#{@issue}", status: 200)
    journal(page.find(%r{/journals/(\d+)/edit}))
    %w[.pdf .atom /edit].each { |one| get("/issues/#{@issue}#{one}", status: 200) }
    post("/issues/preview", { "project_id" => @project[/\w+\z/], "text" => "**seen**" },
         status: 200)
    several_issues
  end

  def new_issue(subject, more = {})
    fields = { **@fields, "issue[subject]" => subject, **more }
    made(post("#{@project}/issues", fields, status: 302))
  end

  def change(fields) = post("/issues/#{@issue}", fields, verb: "patch", status: 302)

  def journal(id)
    script = { "X-Requested-With" => "XMLHttpRequest" }
    get("/journals/#{id}/edit.js", script, status: 200)
    @visitor.send_bytes(Net::HTTP::Put, "/journals/#{id}.js",
                        URI.encode_www_form("journal[notes]" => "another note"),
                        "application/x-www-form-urlencoded",
                        { **script, "X-CSRF-Token" => @visitor.token }, status: 200)
    post("/issues/#{@issue}/quoted?journal_id=#{id}", headers: script)
  end

  def several_issues
    other = new_issue("second")
    third = new_issue("third", "issue[parent_issue_id]" => @issue)
    both = [["ids[]", @issue], ["ids[]", other]]
    post("/issues/#{@issue}/relations",
         { "relation[relation_type]" => "blocks", "relation[issue_to_id]" => other }, status: 302)
    post("/watchers/watch?object_type=issue&object_id=#{other}")
    get("/issues/context_menu?#{URI.encode_www_form(both)}", status: 200)
    get("/issues/bulk_edit?#{URI.encode_www_form(both)}", status: 200)
    post("/issues/bulk_update", both + [["issue[priority_id]", "3"]], status: 302)
    get("/issues/auto_complete?project_id=#{@project[/\w+\z/]}&term=second", status: 200)
    post("/issues/#{third}", verb: "delete", status: 302)
    get("/issues/#{third}", status: 404)
  end

  def time_entries
    page = get("/issues/#{@issue}/time_entries/new", status: 200)
    activity = page.find(/<option[^>]* value="(\d+)"[^>]*>Development/)
    fields = { "time_entry[hours]" => "1.5", "time_entry[issue_id]" => @issue,
               "time_entry[spent_on]" => "2024-02-29", "time_entry[activity_id]" => activity }
    post("/issues/#{@issue}/time_entries", fields, status: 302)
    post("/issues/#{@issue}/time_entries", { **fields, "time_entry[hours]" => "many" }, status: 200)
    %w[time_entries time_entries.csv time_entries/report?criteria%5B%5D=user
       time_entries/report.csv?criteria%5B%5D=user].each do |one|
      get("#{@project}/#{one}", status: 200)
    end
  end

  # By script, as a browser uploads, and by a form without scripts.
  def attachments
    attach("a file.bin", "application/octet-stream", @bytes)
    attach("dot.png", "image/png", @image)
    text = ["größe.txt", "text/plain", "Größe #{@user}\n" * 1000]
    @visitor.upload("/issues/#{@issue}", { "issue[notes]" => "by form" },
                    { "attachments[1][file]" => text }, verb: "patch", status: 302)
    page = get("/issues/#{@issue}", status: 200)
    ids = page.body.scan(%r{/attachments/download/(\d+)/([^"]+)"}).uniq.to_h.first(3)
    ids.each { |id, name| download(id, name) }
    @attachment = ids.first.first
    @visitor.head("/attachments/download/#{@attachment}", status: 200)
    get("/attachments/thumbnail/#{ids[1].first}")
  end

  def attach(file, media, bytes)
    query = URI.encode_www_form("attachment_id" => "1", "filename" => file, "content_type" => media)
    headers = { "X-CSRF-Token" => @visitor.token, "X-Requested-With" => "XMLHttpRequest" }
    answer = @visitor.send_bytes(Net::HTTP::Post, "/uploads.js?#{query}", bytes,
                                 "application/octet-stream", headers, status: 200)
    change("attachments[1][token]" => answer.find(/val\('(\d+\.\h+)'\)/),
           "attachments[1][filename]" => file, "issue[notes]" => "with #{file}")
  end

  def download(id, name)
    get("/attachments/#{id}", status: 200)
    path = "/attachments/download/#{id}/#{name}"
    file = get(path, status: 200)
    get(path, { "If-None-Match" => file["etag"] }, status: 304)
    ["bytes=10-19", "bytes=-5", "bytes=60-"].each { |range| get(path, { "Range" => range }) }
  end

  def archive_and_import
    get("/attachments/issues/#{@issue}/download", status: 200)
    get("/issues/imports/new?project_id=#{@project[/\w+\z/]}", status: 200)
    sent = @visitor.upload("/imports", { "type" => "IssueImport",
                                         "project_id" => @project[/\w+\z/] },
                           { "file" => ["new.csv", "text/csv", CSV] }, status: 302)
    import = sent["location"][%r{/imports/\h+}]
    get("#{import}/settings", status: 200)
    post("#{import}/settings", { "import_settings[separator]" => ";",
                                 "import_settings[wrapper]" => '"',
                                 "import_settings[encoding]" => "UTF-8",
                                 "import_settings[date_format]" => "%Y-%m-%d" }, status: 302)
    get("#{import}/mapping", status: 200)
    id = get("#{@project}.json").find(/"id":(\d+)/)
    post("#{import}/mapping", { "import_settings[mapping][project_id]" => id,
                                "import_settings[mapping][tracker]" => "value:1",
                                "import_settings[mapping][subject]" => "0",
                                "import_settings[mapping][description]" => "1" }, status: 302)
    get("#{import}/run", status: 200)
    post("#{import}/run", status: 302)
    get(import, status: 200)
  end

  def wiki
    page = "#{@project}/wiki/Wiki"
    edit = ->(text, version) do
      post(page, { "content[text]" => text, "content[comments]" => "why",
                   "content[version]" => version }, verb: "put")
    end
    get("#{@project}/wiki", status: 200)
    edit["# Title\n\n[[Other]] & ünïcode\n\n## Part\n", "0"]
    get(page, status: 200)
    version = get("#{page}/edit", status: 200).find(/value="(\d+)"[^>]*name="content\[version\]"/)
    edit["# Title\n\nchanged\n", version]
    edit["# Title\n\nchanged again\n", version.to_i + 1]
    edit["stale", version]
    %w[/history /diff?version=2&version_from=1 .pdf .html .txt /2/annotate /2]
      .each { |suffix| get(page + suffix, status: 200) }
    @visitor.upload("#{page}/add_attachment", {},
                    { "attachments[1][file]" => ["map.png", "image/png", @image] }, status: 302)
    %w[index date_index export.pdf export.html Nowhere]
      .each { |one| get("#{@project}/wiki/#{one}", status: 200) }
    post("#{page}/rename", { "wiki_page[title]" => "Renamed",
                             "wiki_page[redirect_existing_links]" => "1" }, status: 302)
    get(page, status: 302)
    post("#{@project}/wiki/Renamed", verb: "delete", status: 302)
  end

  def talk
    get("#{@project}/news/new", status: 200)
    post("#{@project}/news", { "news[title]" => "News", "news[description]" => "Something new" },
         status: 302)
    news = get("#{@project}/news", status: 200).find(%r{href="/news/(\d+)"})
    post("/news/#{news}/comments", { "comment[comments]" => "**good**" }, status: 302)
    get("/news/#{news}", status: 200)
    get("#{@project}/news.atom", status: 200)
    board
    get("#{@project}/documents/new", status: 200)
      .find(/document\[category_id\].*?<option[^>]* value="(\d+)"/m)
      .then do |category|
        post("#{@project}/documents", { "document[title]" => "Paper",
                                        "document[category_id]" => category }, status: 302)
      end
    get("#{@project}/documents", status: 200)
    @visitor.upload("#{@project}/files", {},
                    { "attachments[1][file]" => ["a.bin", "application/octet-stream", @bytes] },
                    status: 302)
    get("#{@project}/files", status: 200)
  end

  def board
    get("#{@project}/boards/new", status: 200)
    post("#{@project}/boards", { "board[name]" => "Board", "board[description]" => "Talk" },
         status: 302)
    board = get("#{@project}/boards", status: 200).find(%r{/boards/(\d+)})
    get("/boards/#{board}/topics/new", status: 200)
    topic = made(post("/boards/#{board}/topics/new",
                      { "message[subject]" => "Topic", "message[content]" => "text" }, status: 302))
    post("/boards/#{board}/topics/#{topic}/replies",
         { "reply[subject]" => "RE: Topic", "reply[content]" => "> text\n\nno" }, status: 302)
    get("/boards/#{board}/topics/#{topic}", status: 200)
  end

  def settings
    post("#{@project}/versions", { "version[name]" => "1.0" }, status: 302)
    get("#{@project}/roadmap", status: 200)
    post("#{@project}/issue_categories", { "issue_category[name]" => "Part" }, status: 302)
    post(@project, { "project[description]" => "Described" }, verb: "patch", status: 302)
    get("#{@project}/queries/new", status: 200)
    post("#{@project}/queries", { "query[name]" => "Mine", "f[]" => "status_id",
                                  "op[status_id]" => "o", "c[]" => "subject" }, status: 302)
    post("/my/account", { "user[firstname]" => "Changed", "pref[comments_sorting]" => "desc" },
         verb: "put", status: 302)
    post("/my/password", { "password" => "wrong", "new_password" => "n" * 10,
                           "new_password_confirmation" => "n" * 10 }, status: 200)
  end

  def lists
    %w[issues.csv?c%5B%5D=subject&c%5B%5D=status&encoding=UTF-8 issues.csv?encoding=ISO-8859-1
       issues.pdf issues.atom issues/gantt?year=2024&month=2
       issues/gantt.pdf?year=2024&month=2 issues/calendar?year=2024&month=2 issues/report
       search?q=bold&scope=project search?q=%C3%BCn%C3%AF&wiki_pages=1 activity?from=2024-02-29
       activity.atom issues?set_filter=1&sort=id&f%5B%5D=status_id&op%5Bstatus_id%5D=%2A]
      .each { |one| get("#{@project}/#{one}", status: 200) }
  end

  def api
    auth = { "X-Redmine-API-Key" => get("/my/api_key").find(%r{<pre>(\h{40})</pre>}) }
    ["/issues/#{@issue}.json?include=journals,attachments", "/issues/#{@issue}.xml",
     "#{@project}.json", "#{@project}/issues.json", "#{@project}/issues.xml",
     "#{@project}/wiki/index.json", "#{@project}/time_entries.xml", "/users/current.json"]
      .each { |one| get(one, auth, status: 200) }
    get("/users/current.json", { "X-Redmine-API-Key" => "wrong", "Cookie" => "" }, status: 401)
    get("/users/current.json", { "Authorization" => "Basic #{["#{@user}:x"].pack("m0")}",
                                 "Cookie" => "" }, status: 401)
    upload = send_api("Post", "/uploads.json?filename=api.bin", @bytes, auth, 201,
                      "application/octet-stream")
    token = JSON.parse(upload.body).dig("upload", "token")
    issue = { subject: "by API", tracker_id: 1, priority_id: 2, status_id: 1,
              uploads: [{ token: token, filename: "api.bin" }] }
    id = send_api("Post", "#{@project}/issues.json", { issue: issue }, auth, 201)
         .find(/"id":(\d+)/)
    send_api("Put", "/issues/#{id}.json", { issue: { notes: "over API" } }, auth, 204)
    send_api("Delete", "/issues/#{id}.json", nil, auth, 204)
    get("/issues/#{id}.json", auth, status: 404)
    send_api("Post", "#{@project}/issues.json", { issue: { subject: "" } }, auth, 422)
    send_api("Post", "#{@project}/issues.json", "{", auth, 400)
  end

  def send_api(method, path, value, headers, status, media = "application/json")
    bytes = value.is_a?(Hash) ? JSON.generate(value) : value
    @visitor.send_bytes(Net::HTTP.const_get(method), path, bytes, media, headers, status: status)
  end

  def faults
    get("/issues/999", status: 404)
    get("/nowhere/at/all", status: 404)
    get("/admin", status: 403)
    get("/users", status: 403)
    get("/issues/#{@issue}.unknown", status: 406)
    get("#{@project}/issues?page=abc&per_page=-1", status: 200)
    get("#{@project}/issues?query_id=999", status: 404)
    get("/projects/project%FF", status: 400)
    get("/projects/project%00")
    get("/issues?f%5B%5D=a&f%5Bb%5D=c", status: 400)
    get("#{@project}/search?q=%FF", status: 400)
    get("/attachments/download/999/none.txt", status: 404)
    @visitor.send_bytes(Net::HTTP::Put, "/projects", "x", "text/plain", status: 404)
    @visitor.send_bytes(Net::HTTP::Post, "/imports", "no parts", "multipart/form-data; boundary=x")
    @visitor.send_bytes(Net::HTTP::Options, "/projects", nil, "text/plain")
  end

  def leave
    get("/my/page", status: 200)
    # Ends the session.
    post("/issues/#{@issue}", { "issue[notes]" => "forged" }, verb: "patch", token: nil,
                                                               status: 422)
    get("/my/page", status: 302)
    log_in
    post("/logout", status: 302)
    get("/my/page", status: 302)
  end
end
