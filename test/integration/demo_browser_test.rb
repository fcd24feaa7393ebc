# frozen_string_literal: true

# The demo's page in headless Chromium: what people see and press, at a desk and on a phone, in both
# themes. Leaves pictures in tmp/demo-page.

require "fileutils"
require "minitest/autorun"
require_relative "../support/browser"
require_relative "demo_process"

class DemoBrowserTest < Minitest::Test
  PICTURES = File.expand_path("../../tmp/demo-page", __dir__)
  WAIT_S = 40
  SIZES = {
    desktop: [1280, 900, 1, false], tablet: [820, 1180, 1, true], phone: [360, 740, 2, true]
  }.freeze
  # What a browser calls a bad experience begins at 0.1 (web.dev, "Cumulative Layout Shift").
  SHIFT_MAX = 0.05

  # How many separate lines of the waterfall's canvas are painted over a tenth of its width at
  # least.
  PAINTED_LINES = <<~JS
    (() => {
      const canvas = document.querySelector("#waterfall canvas");
      const { data, width, height } =
        canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let lines = 0, before = false;
      for (let y = 0; y < height - 28 * devicePixelRatio; y++) { // below is the axis
        let painted = 0;
        for (let x = 0; x < width; x++) if (data[4 * (y * width + x) + 3] > 200) painted++;
        const now = painted > width / 10;
        if (now && !before) lines++;
        before = now;
      }
      return lines;
    })()
  JS

  class << self
    # Neither stays while other files are tested.
    def run(...)
      super
    ensure
      @browser&.quit
      @demo&.stop
      @browser = @demo = nil
    end

    def demo
      @demo ||= DemoProcess.new(PORT: "0")
    end

    # One for all tests; each has its pages in a context of its own, as a new visitor has.
    def browser
      @browser ||= Browser.start(wait_s: WAIT_S)
    end
  end

  def setup
    unless Browser.here?
      skip "no Chromium here (bin/setup --all installs Debian's where it can be had): " \
           "the demo's page was not driven"
    end
    @contexts = []
    @context = create_context
    @complaints = []
    @asked = []
  end

  def teardown
    @contexts&.each { |context| self.class.browser.contexts.dispose(context.id) }
  end

  { desktop: %w[light dark], tablet: %w[light], phone: %w[light dark] }.each do |size, themes|
    themes.each do |theme|
      define_method(:"test_the_page_runs_200_requests_#{size}_#{theme}") { drive(size, theme) }
    end
  end

  def test_the_theme_follows_the_system_until_the_button_is_pressed_and_is_kept
    page = open_page(:desktop, "light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    assert_equal "false", page.at_css("#theme").attribute("aria-pressed")
    press(page, "#theme")
    dark = page.evaluate(background)
    refute_equal light, dark
    assert_equal "true", page.at_css("#theme").attribute("aria-pressed")
    page.refresh
    wait_for(page, "document.querySelector('#theme').getAttribute('aria-pressed') === 'true'")
    assert_equal dark, page.evaluate(background)
    press(page, "#theme")
    assert_equal light, page.evaluate(background)
    system = open_page(:desktop, "dark", "no-preference", create_context)
    assert_equal dark, system.evaluate(background)
    assert_empty @complaints
  end

  def test_the_keyboard_alone_is_enough
    page = open_page(:desktop, "light", "reduce")
    wait_for(page, "!document.querySelector('#fire').disabled")
    seen = []
    until seen.last == "fire" || seen.size > 20
      page.keyboard.type(:Tab)
      seen << page.evaluate("document.activeElement.id || document.activeElement.className || " \
                            "document.activeElement.textContent")
    end
    assert_equal ["skip", "Run", "Dashboard", "Try it", "theme", "fire"], seen
    page.keyboard.type(:Enter)
    wait_for_end_of_run(page)
    assert_equal 200, page.evaluate(PAINTED_LINES)
    assert_empty @complaints
  end

  # The server dies while a run is on, is seen to be gone, comes back, and the same page goes on.
  def test_a_server_that_stops_is_said_and_tried_again
    DemoProcess.run(PORT: "0") do |demo|
      page = open_page(:phone, "light", url: demo.url)
      wait_for(page, "document.querySelectorAll('#products td.number').length === 18")
      press(page, "#fire")
      wait_for(page, "document.querySelector('#run-status').textContent.includes('on their way')")
      number = page.evaluate(
        "document.querySelector('#figures-status').textContent.match(/Process (\\d+)/)[1]"
      )
      Process.kill("KILL", number.to_i)
      wait_for(page, "!document.querySelector('#run-error').hidden && " \
                     "document.querySelector('#figures').classList.contains('stale')")
      assert_includes page.at_css("#run-error").text,
                      "The server stopped answering while the run was on."
      assert_includes page.at_css("#figures-status").text, "The server does not answer."
      picture(page, "phone-light-gone")
      assert_equal 1, demo.wait
      DemoProcess.run(PORT: demo.url[/\d+\z/]) do |again|
        again.url
        wait_for(page, "!document.querySelector('#figures').classList.contains('stale')")
        press(page, "#run-error button")
        wait_for(page, "document.querySelector('#run-status').textContent.startsWith('All 200')")
        assert page.evaluate("document.querySelector('#run-error').hidden")
        assert_equal 200, page.evaluate("document.querySelectorAll('#rows tbody tr').length")
      end
    end
  end

  def test_a_service_that_does_not_answer_leaves_its_places_empty
    page = open_page(:desktop, "light") do |blank|
      blank.command("Page.addScriptToEvaluateOnNewDocument", source: <<~JS)
        const fetched = window.fetch;
        window.fetch = async (path, ...more) => {
          const answer = await fetched(path, ...more);
          if (path !== "/api/dashboard") return answer;
          const shop = await answer.json();
          for (const product of shop.products) product.stock = null;
          return new Response(JSON.stringify({ ...shop, missing: ["stock"] }));
        };
      JS
    end
    wait_for(page, "!document.querySelector('#shop-error').hidden")
    assert_equal "No answer from: stock. Their places are empty; the rest is right.",
                 page.at_css("#shop-error").text
    assert_equal "–", page.at_css("#products tbody tr td:nth-child(4)").text
    assert_empty @complaints
  end

  # What the server says of the run is replaced: one of three requests has failed.
  def test_a_run_with_failed_requests_is_told_with_what_was_answered
    page = open_page(:desktop, "light") do |blank|
      blank.command("Page.addScriptToEvaluateOnNewDocument", source: <<~JS)
        const fetched = window.fetch, waits = { price: [0, 0.1], stock: [0.1, 0.2], reviews: [0.2, 0.3] };
        const rows = [{ product: 1, sent: 0, received: 0.6, waits }, { product: 2, sent: 0, received: 0.7, waits },
          { product: 3, sent: 0, received: 0.1, error: "Errno::ECONNRESET" }];
        const run = { id: "1", state: "done", elapsed_s: 1, requests: 3, alone: { product: 1, sent: 0, received: 0.6 }, rows,
          summary: { together_s: 0.7, ratio: 2, overlap: 2, failed: 1 } };
        window.fetch = async (path, ...more) => path === "/api/runs" ? new Response(JSON.stringify(run)) : fetched(path, ...more);
      JS
    end
    wait_for(page, "!document.querySelector('#fire').disabled")
    press(page, "#fire")
    wait_for(page, "!document.querySelector('#run-error').hidden")

    assert_equal "2 of 3 answered in 0.70 s, 2 of them at the same moment.",
                 page.at_css("#run-status").text
    assert_equal "1 request got no right answer: Errno::ECONNRESET. Try again",
                 page.at_css("#run-error").text
    assert_equal 3, page.evaluate("document.querySelectorAll('#rows tbody tr').length")
    assert_empty @complaints
  end

  def test_a_request_that_is_not_sent_yet_is_described_as_such
    page = open_page(:desktop, "light")
    wait_for(page, "!document.querySelector('#fire').disabled")
    said = page.evaluate_async(<<~JS, WAIT_S)
      const done = arguments[arguments.length - 1];
      const charts = performance.getEntriesByType("resource").find(({ name }) => name.includes("charts"));
      import(charts.name).then(({ describe }) => describe({ product: 5 })).catch(String).then(done);
    JS

    assert_equal "Request 5: not sent yet", said
  end

  private

  def create_context
    self.class.browser.contexts.create.tap { |context| @contexts << context }
  end

  def drive(size, theme)
    page = open_page(size, theme)
    picture(page, "#{size}-#{theme}-loading")
    wait_for(page, "document.querySelectorAll('#products td.number').length === 18")
    assert_match(/\APut together in \d/, page.at_css("#shop-status").text)
    assert_fits page, "ready"
    fire(page)
    assert_fits page, "done"
    picture(page, "#{size}-#{theme}-done")
    assert_tells_of_a_line page
    assert_figures page
    assert_operator page.evaluate("shifts"), :<, SHIFT_MAX,
                    "what stands on the page has moved: #{page.evaluate("shifted.join(' ')")}"
    page.execute("for (const each of document.querySelectorAll('details')) each.open = true")
    assert_fits page, "opened"
    assert_empty @complaints
    assert_empty(@asked.reject { |url| url.start_with?(self.class.demo.url) })
  end

  def fire(page)
    press(page, "#fire")
    wait_for(page, "document.querySelector('#together-note')" \
                   ".textContent.includes(' of 200 answered') && " \
                   "document.querySelector('#fire').disabled")
    wait_for_end_of_run(page)
    assert_match(/\AAll 200 answered in \d+\.\d\d s, \d+ of them at the same moment\.\z/,
                 page.at_css("#run-status").text)
    assert_equal 200, page.evaluate(PAINTED_LINES)
    assert_equal 200, page.evaluate("document.querySelectorAll('#rows tbody tr').length")
    assert_match(/\A\d+\.\d\d s\z/, page.at_css("#together").text)
    assert_match(/\A\d+ min \d+ s\z/, page.at_css("#one-by-one").text)
    assert_operator page.at_css("#ratio").text.to_f, :>=, 10
    assert_includes page.at_css("#waterfall").attribute("aria-label"), "All 200 answered"
  end

  def assert_tells_of_a_line(page)
    page.execute("document.querySelector('#waterfall')" \
                 ".scrollIntoView({ behavior: 'instant', block: 'center' })")
    left, middle = page.evaluate(
      "(({ x, y, width, height }) => [x + width / 2, y + height / 2])" \
      "(document.querySelector('#waterfall').getBoundingClientRect())"
    )
    page.mouse.move(x: left, y: middle)
    wait_for(page, "document.querySelector('#readout').textContent.startsWith('Request')")
    waits = /price \d\.\d\d s, stock \d\.\d\d s, reviews \d\.\d\d s/
    assert_match(/\ARequest \d+: \d\.\d\d s, of which #{waits}\z/, page.at_css("#readout").text)
  end

  def assert_figures(page)
    wait_for(page, "Number(document.querySelector('[data-figure=in_flight_most]').textContent) " \
                   ">= 150")
    texts = page.css("[data-figure]").to_h { |node| [node.attribute("data-figure"), node.text] }
    assert_equal 8, texts.size
    assert_match(/\A\d+(\.\d)? MB\z/, texts["memory"]) if File.exist?("/proc/self/statm")
    assert_operator texts["served"].delete(",").to_i, :>=, 200
    assert_equal "0", texts["failed"]
    wait_for(page, "Number(document.querySelector('[data-server=requests]')" \
                   ".textContent.replaceAll(',', '')) >= 200")
    own = page.css("[data-server]").to_h { |node| [node.attribute("data-server"), node.text] }
    assert_equal %w[connections lag p50 p99 queue requests], own.keys.sort
    own.slice("p50", "p99", "queue", "lag").each do |name, text|
      assert_match(/\A\d+(\.\d+)?[ \u00a0](µs|ms|s)\z/, text, name)
    end
  end

  def assert_fits(page, step)
    wide, screen = page.evaluate(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert_operator wide, :<=, screen, "#{step}: the page can be scrolled sideways"
  end

  def open_page(size, theme, motion = "no-preference", context = @context, url: self.class.demo.url)
    page = context.create_page
    width, height, scale, mobile = SIZES.fetch(size)
    page.command("Emulation.setDeviceMetricsOverride",
                 width: width, height: height, deviceScaleFactor: scale, mobile: mobile)
    features = [
      { name: "prefers-color-scheme", value: theme },
      { name: "prefers-reduced-motion", value: motion }
    ]
    page.command("Emulation.setEmulatedMedia", features: features)
    listen(page)
    yield page if block_given?
    page.go_to("#{url}/")
    page
  end

  # Whatever the browser finds wrong, and every address it asks for.
  def listen(page)
    page.command("Log.enable")
    page.on("Log.entryAdded") { |event| @complaints << event.dig("entry", "text") }
    page.on("Runtime.exceptionThrown") do |event|
      @complaints << event.dig("exceptionDetails", "exception", "description")
    end
    page.on("Runtime.consoleAPICalled") do |event|
      @complaints << event["args"].to_s if %w[error warning assert].include?(event["type"])
    end
    page.on("Network.requestWillBeSent") { |event| @asked << event.dig("request", "url") }
    page.command("Page.addScriptToEvaluateOnNewDocument", source: <<~JS)
      var shifts = 0, shifted = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          if (entry.hadRecentInput) continue;
          shifts += entry.value;
          shifted.push(...entry.sources.map((source) =>
            source.node?.id || source.node?.className || source.node?.nodeName));
        }
      }).observe({ type: "layout-shift", buffered: true });
    JS
  end

  # The page scrolls smoothly, and a press must not hit where the button was.
  def press(page, selector)
    page.execute("document.querySelector(arguments[0])" \
                 ".scrollIntoView({ behavior: 'instant', block: 'center' })", selector)
    page.at_css(selector).click
  end

  def wait_for_end_of_run(page)
    wait_for(page, "!document.querySelector('#fire').disabled")
  end

  # Looks again whenever the page changes.
  def wait_for(page, condition)
    page.evaluate_async(<<~JS, WAIT_S)
      const done = arguments[arguments.length - 1];
      const look = () => { if (#{condition}) { observer.disconnect(); done(true); } };
      const observer = new MutationObserver(look);
      observer.observe(document.documentElement,
        { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    JS
  rescue Ferrum::ScriptTimeoutError
    said = page.evaluate(
      "[...document.querySelectorAll('[role=status], [role=alert], #figures-status')]" \
      ".map((node) => node.textContent)"
    )
    flunk "in #{WAIT_S} s never: #{condition}; the page says: #{said.join(" | ")}"
  end

  # The whole page.
  def picture(page, name)
    FileUtils.mkdir_p(PICTURES)
    page.screenshot(path: File.join(PICTURES, "#{name}.png"), full: true)
  end
end
