# frozen_string_literal: true

# examples/rails in production, used by a visitor in headless Chromium: the list, a mistake in the
# form, an upload, the slow report, the CSV.

require "minitest/autorun"
require_relative "../support/browser"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsExampleTest < Minitest::Test
  # The example with the gems of the checkout.
  class Example < RailsApplication
    private

    def generate(folder)
      FileUtils.cp_r("#{ROOT}/examples/rails/.", folder)
      %w[log tmp storage].each { |name| FileUtils.rm_rf(File.join(folder, name)) }
      FileUtils.mkdir_p(File.join(folder, "storage"))
      File.write(File.join(folder, "Gemfile"), self.class.gemfile)
      run(env(folder), "bundle", "install", "--local", "--quiet", chdir: folder)
      run(env(folder).merge("RAILS_ENV" => "production"), "bin/rails", "db:migrate", chdir: folder)
    end
  end

  def setup
    skip "chromium is not installed (bin/setup --all installs it)" unless Browser.here?
    @server = RailsServer.new(
      "bin/rails", "server", "-p", "0", "-b", "127.0.0.1", "-e", "production",
      application: Example.new
    ).start
    @browser = Browser.start(untrusted: true)
  end

  def teardown
    @browser&.quit
    @server&.stop
  end

  def test_a_visitor_hands_in_a_paper_and_reads_the_report
    visit "/"
    submit(title: "", pages: 3)
    assert_match(/Title can't be blank/, text(".error"))

    paper = @server.in_directory("thesis.txt")
    File.write(paper, "All there is to say. " * 10_000)
    @browser.at_css("input[type=file]").select_file(paper)
    submit(title: "A thesis", pages: 120)
    assert_equal "A thesis", text("h1")
    file = @browser.at_css("p a")
    assert_equal "thesis.txt", file.text
    assert_equal File.read(paper), download(file.property(:href))

    visit "/report"
    assert_equal "120 pages in 1 paper", text("#pages")
    assert_equal "title,pages\nA thesis,120\n", download("#{@server.url}/papers.csv")
  end

  private

  def visit(path)
    @browser.go_to("#{@server.url}#{path}")
  rescue Ferrum::StatusError => e
    flunk "#{e.message}\n#{@server.log("production")}"
  end

  def text(selector)
    @browser.at_css(selector)&.text.to_s.strip
  end

  # A page is another one once the mark of this one is gone.
  def submit(fields)
    fields.each do |name, value|
      field = "document.querySelector('[name=\"paper[#{name}]\"]')"
      @browser.execute("#{field}.value = arguments[0]", value.to_s)
    end
    @browser.execute("window.before = true; document.querySelector('[type=submit]').click()")
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    until arrived?
      if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        flunk "the form was not answered: #{@browser.body[0, 500]}\n" \
              "#{@server.stderr}\n#{@server.log("production")}"
      end
      sleep 0.01
    end
  end

  def arrived?
    @browser.evaluate("!window.before && document.readyState == 'complete'")
  rescue Ferrum::Error # between two pages there is none to ask
    false
  end

  def download(url)
    answer = HTTPClient.get_response(URI(url))
    while answer.is_a?(Net::HTTPRedirection)
      answer = HTTPClient.get_response(URI(answer["location"]))
    end
    assert_equal "200", answer.code
    answer.body
  end
end
