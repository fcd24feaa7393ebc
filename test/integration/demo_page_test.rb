# frozen_string_literal: true

# What the demo's page is made of, asked for without a browser: its files, its JSON, its colours.

require "digest"
require "json"
require "minitest/autorun"
require "socket"
require "timeout"
require "tmpdir"
require_relative "../support/http_client"
require_relative "demo_process"
require_relative "../../examples/demo/lib/demo/figures"
require_relative "../../examples/demo/lib/demo/server_figures"

class DemoPageTest < Minitest::Test
  FOLDER = File.expand_path("../../examples/demo", __dir__)

  def self.demo
    @demo ||= DemoProcess.new(PORT: "0")
  end

  # It does not stay while other files are tested.
  def self.run(...)
    super
  ensure
    @demo&.stop
    @demo = nil
  end

  def test_every_file_of_the_page_is_there_with_its_type
    page = get("/")
    assert_equal "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                 page["content-security-policy"]
    names = page.body.scan(/(?:src|href)="(\/assets\/[^"]+)"/).flatten
    names += Dir.children("#{FOLDER}/public").grep(/\.js\z/).map { |name| "/assets/#{name}" }
    types = {
      ".js" => "text/javascript; charset=utf-8",
      ".css" => "text/css; charset=utf-8",
      ".svg" => "image/svg+xml",
      ".md" => "text/plain; charset=utf-8"
    }
    names.uniq.each do |name|
      answer = get(name)
      assert_equal ["200", types.fetch(File.extname(name))], [answer.code, answer["content-type"]],
                   name
      assert_equal File.binread("#{FOLDER}/public#{name.delete_prefix("/assets")}"), answer.body.b,
                   name
    end
    assert_operator names.uniq.size, :>, 10
  end

  # RFC 9110, 13.1.2
  def test_a_file_the_browser_has_is_not_sent_again
    tag = get("/assets/style.css")["etag"]
    again = get("/assets/style.css", "If-None-Match" => tag)
    assert_equal ["304", nil, tag], [again.code, again.body, again["etag"]]
    assert_equal "200", get("/assets/style.css", "If-None-Match" => '"another"').code
  end

  def test_nothing_outside_of_the_public_folder_can_be_named
    [
      "/assets/../config.ru", "/assets/..%2fconfig.ru", "/assets/%2e%2e/config.ru",
      "/assets//etc/passwd", "/assets/vendor/../../config.ru", "/assets/", "/assets",
      "/assets/vendor", "/assets/app.js%00.css", "/assets/./app.js", "/assets/app.js/"
    ].each { |path| assert_includes %w[400 404], get(path).code, path }
  end

  def test_nothing_is_named_that_lies_elsewhere
    Dir.glob("#{FOLDER}/{pages,public}/*.{erb,js,css}").each do |file|
      refute_match(%r{(?:src|href|url|import|fetch)\W+(?:https?:)?//}, File.read(file), file)
    end
  end

  def test_the_chart_library_is_as_it_was_published
    sums = File.read("#{FOLDER}/public/vendor/README.md").scan(/^(\h{64})  (\S+)$/)
    assert_equal 2, sums.size
    sums.each do |sum, name|
      assert_equal sum, Digest::SHA256.file("#{FOLDER}/public/vendor/#{name}").hexdigest, name
    end
  end

  def test_a_run_sends_all_at_once_and_tells_of_each
    run = follow(post("/api/runs"))
    assert_equal ["done", 200, 200], [run["state"], run["requests"], run["rows"].size], run["error"]
    run["rows"].each { |row| assert_right row }
    summary = run["summary"]
    assert_equal 0, summary["failed"]
    assert_operator summary["overlap"], :>=, 150
    assert_in_delta summary["alone_s"] * 200, summary["one_by_one_s"], 0.1
    assert_in_delta summary["one_by_one_s"] / summary["together_s"], summary["ratio"], 0.1
    assert_operator summary["alone_s"], :>=, 1.19
  end

  def test_one_run_at_a_time_whoever_presses
    first = JSON.parse(post("/api/runs").body)
    assert_equal first["id"], JSON.parse(post("/api/runs").body)["id"]
    assert_equal "done", follow(get("/api/runs/#{first["id"]}"))["state"]
  end

  def test_what_starts_no_run
    assert_equal "405", get("/api/runs").code
    assert_equal "403", post("/api/runs", "Sec-Fetch-Site" => "cross-site").code
    assert_equal "404", get("/api/runs/0123456789abcdef").code
    assert_equal "404", get("/api/runs/..").code
  end

  def test_the_dashboard_waits_for_its_services_together
    shop = JSON.parse(get("/api/dashboard").body)
    assert_equal [6, 18, []], [shop["products"].size, shop["calls"], shop["missing"]]
    assert_equal shop["totals"]["orders"], shop["hours"].sum
    shop["products"].each { |product| assert_equal product["id"] * 31 % 40, product["stock"] }
    orders = shop["products"].map { |product| product["orders"] }
    assert_equal orders.sort.reverse, orders
    assert_operator shop["seconds"], :<, shop["one_by_one_s"] / 2
  end

  def test_the_figures_are_of_the_process_that_serves
    figures = JSON.parse(get("/api/figures").body)
    if File.exist?("/proc/self/cmdline")
      command = File.read("/proc/#{figures["process"]}/cmdline").tr("\0", " ").gsub("exe/", " ")
      assert_match(/ neverblock /, command)
    end
    assert_operator figures["memory_bytes"], :>, 10_000_000 if File.exist?("/proc/self/statm")
    assert_operator figures["cpu_s"], :>, 0
    assert_operator figures["fibers"], :>, 0
    assert_equal [60, 60], figures.values_at("in_flight_by_second", "served_by_second").map(&:size)
    assert_equal "running", figures["server"]["state"]
    assert_operator figures["server"]["requests"]["total"], :>, 0
    before = figures["served"]
    get("/sqlite")
    assert_operator JSON.parse(get("/api/figures").body)["served"], :>, before
  end

  private

  def assert_right(row)
    times = [
      row["sent"], *row["waits"].values_at("price", "stock", "reviews").flatten, row["received"]
    ]
    assert_equal times.sort, times, row
    { "price" => 0.3, "stock" => 0.4, "reviews" => 0.5 }.each do |name, least|
      from, to = row["waits"][name]
      assert_operator to - from, :>=, least - 0.01, row
    end
  end

  def follow(answer)
    Timeout.timeout(60) do
      loop do
        run = JSON.parse(answer.body)
        return run if %w[done failed].include?(run["state"])

        # The progress is one request after another: each takes its time at the server.
        get("/sleep?seconds=0.1")
        answer = get("/api/runs/#{run["id"]}")
      end
    end
  end

  def get(path, headers = {})
    request(Net::HTTP::Get.new(path, headers))
  end

  def post(path, headers = {})
    request(Net::HTTP::Post.new(path, headers).tap { |request| request.body = "" })
  end

  def request(request)
    uri = URI(self.class.demo.url)
    HTTPClient.open(uri, open_timeout: 20, read_timeout: 60) do |http|
      http.request(request)
    end
  end
end

# The middleware that counts, with a clock of its own.
class DemoServerFiguresTest < Minitest::Test
  def test_without_an_admin_address_or_an_answer_there_are_none
    assert_nil Demo::ServerFigures.new(nil).to_h
    assert_nil Demo::ServerFigures.new("/no/such/file").to_h
    Dir.mktmpdir do |directory|
      path = File.join(directory, "address")
      File.write(path, "http://127.0.0.1:1\n")
      assert_nil Demo::ServerFigures.new(path).to_h
      closed = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
      File.write(path, "http://127.0.0.1:1\nhttp://127.0.0.1:#{closed}\n")
      assert_nil Demo::ServerFigures.new(path).to_h
    end
  end
end

class DemoFiguresTest < Minitest::Test
  def setup
    @time = 100.0
    app = ->(env) { env["inside"]&.call || [env.fetch("status", 200), {}, []] }
    @figures = Demo::Figures.new(app, clock: -> { @time })
  end

  def test_requests_are_counted_by_second
    ask
    @time += 2
    3.times { ask }
    seen = @figures.to_h
    assert_equal [4, 0, 1], seen.values_at("served", "in_flight", "in_flight_most")
    assert_equal [1, 0, 3], seen["served_by_second"].last(3)
  end

  def test_who_stays_is_in_flight_in_every_second
    ask("inside" => lambda {
      @time += 3
      assert_equal [1, 1, 1, 1], @figures.to_h["in_flight_by_second"].last(4)
      [200, {}, []]
    })
    @time += 1
    assert_equal [1, 1, 1, 1, 0], @figures.to_h["in_flight_by_second"].last(5)
  end

  def test_only_the_last_minute_is_kept
    ask
    @time += 10_000
    assert_equal [[0] * 60, [0] * 60],
                 @figures.to_h.values_at("in_flight_by_second", "served_by_second")
  end

  def test_failures_are_answers_of_500_and_exceptions
    ask("status" => 404)
    ask("status" => 502)
    assert_raises(ZeroDivisionError) { ask("inside" => -> { 1 / 0 }) }
    assert_equal [3, 2, 0], @figures.to_h.values_at("served", "failed", "in_flight")
  end

  def test_asking_for_the_figures_is_not_counted
    status, headers, body = ask("PATH_INFO" => "/api/figures")
    assert_equal [200, "application/json", 0],
                 [status, headers["content-type"], JSON.parse(body.join)["served"]]
  end

  private

  def ask(env = {})
    @figures.call({ "PATH_INFO" => "/" }.merge(env))
  end
end

# WCAG 2.2, 1.4.3 and 1.4.11: text has a contrast of 4.5 at least, what else has a meaning 3.
class DemoColoursTest < Minitest::Test
  STYLE = File.read(File.expand_path("../../examples/demo/public/style.css", __dir__))
  TEXT = {
    "ink" => %w[paper panel sunk],
    "soft" => %w[paper panel sunk],
    "mark" => %w[paper panel],
    "on-mark" => %w[mark],
    "bad" => %w[bad-paper panel]
  }.freeze
  GRAPHICS = {
    "price" => %w[panel],
    "stock" => %w[panel],
    "reviews" => %w[panel],
    "rest" => %w[panel],
    "mark" => %w[panel paper]
  }.freeze

  def test_contrast_in_the_light_theme
    assert_contrast colours(/:root \{(.*?)\}/m)
  end

  def test_contrast_in_the_dark_theme
    assert_contrast colours(/:root\[data-theme="dark"\] \{(.*?)\}/m)
  end

  def test_the_dark_theme_is_the_same_by_button_and_by_system
    assert_equal colours(/:root\[data-theme="dark"\] \{(.*?)\}/m),
                 colours(/:root:not\(\[data-theme="light"\]\) \{(.*?)\}/m)
  end

  private

  def colours(rule)
    STYLE[rule, 1].scan(/--([a-z-]+): #(\h+)/).to_h
  end

  def assert_contrast(colours)
    { TEXT => 4.5, GRAPHICS => 3.0 }.each do |pairs, least|
      pairs.each do |front, backs|
        backs.each do |back|
          assert_operator contrast(colours.fetch(front), colours.fetch(back)), :>=, least,
                          "#{front} on #{back}"
        end
      end
    end
  end

  # WCAG 2.2, "relative luminance" and "contrast ratio"
  def contrast(one, other)
    light, dark = [luminance(one), luminance(other)].minmax.reverse
    (light + 0.05) / (dark + 0.05)
  end

  def luminance(hex)
    hex = hex.chars.map { |digit| digit * 2 }.join if hex.size == 3
    parts = hex.scan(/../)
      .map { |pair| pair.hex / 255.0 }
      .map { |part| part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055)**2.4 }
    parts.zip([0.2126, 0.7152, 0.0722]).sum { |part, weight| part * weight }
  end
end
