# frozen_string_literal: true

# examples/sequel_roda, on PostgreSQL and on SQLite: a form, JSON, and 200 transactions at once.

require_relative "../support/server_process_case"
require_relative "../support/services"

module ReadingListTests
  AT_ONCE = 200

  def self.included(test_class)
    test_class.extend(Application)
  end

  module Application
    def app
      path = File.expand_path("../../examples/sequel_roda/app", __dir__)
      "require #{path.inspect}\nrun ReadingList.freeze.app\n"
    end

    def server_options
      { env: { "RACK_ENV" => "production", "DATABASE_URL" => database } }
    end
  end

  FORM = "Content-Type: application/x-www-form-urlencoded"

  def add(title, *fields)
    ask("/books", FORM, *fields, method: "POST", body: URI.encode_www_form(title: title))
  end

  def test_the_form_adds_a_book_and_the_page_shows_it
    answer = add("War & <Peace>", "Accept: text/html")
    assert_equal [302, "/"], [answer.status, answer["location"]]
    assert_includes ask("/").body, "War &amp; &lt;Peace&gt;"
  end

  def test_json_comes_back_of_one_and_of_all
    book = parsed(add("Emma"))
    assert_equal book, parsed(ask("/books/#{book["id"]}"))
    assert_includes parsed(ask("/books")), book
    assert_equal 404, ask("/books/0").status
    assert_operator parsed(ask("/report"))["books"], :>=, 1
  end

  def test_what_is_no_book_is_refused
    answer = add("  ")
    assert_equal [422, { "error" => "title is not present" }],
                 [answer.status, JSON.parse(answer.body)]
  end

  def test_transactions_at_once_lose_nothing
    id = parsed(add("Ulysses"))["id"]
    clients = Array.new(AT_ONCE) { Wire::Client.open(server.url) }
    clients.each do |client|
      client.write(request("/books/#{id}/stars", method: "POST", body: "x=1"))
    end
    stars = clients.map { |client| parsed(client.response(method: "POST"))["stars"] }
    assert_equal [*1..AT_ONCE], stars.sort
  ensure
    clients&.each(&:close)
  end
end

class ReadingListOnPostgresqlTest < ServerProcessCase
  include ReadingListTests

  def self.database
    Services.postgresql.url
  end
end

class ReadingListOnSqliteTest < ServerProcessCase
  include ReadingListTests

  def self.database
    @folder ||= Dir.mktmpdir.tap { |folder| Minitest.after_run { FileUtils.rm_rf(folder) } }
    "sqlite://#{@folder}/books.db"
  end
end
