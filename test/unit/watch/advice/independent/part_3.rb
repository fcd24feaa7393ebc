# frozen_string_literal: true

AdviceCases::INDEPENDENT.add do
  case_of "SQL in constants", lines: [6, 7], saves: 0.05, source: <<~'RUBY'
    POSTS = "SELECT count(*) FROM posts WHERE deleted_at IS NULL"
    USERS = "select count(*) from users where updated_at > now()"

    def show
      db = Connection.new
      posts = db.exec(POSTS)
      users = Connection.new.exec(USERS)
      [posts, users]
    end
  RUBY

  case_of "columns with the names of verbs", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      deleted = Connection.new.query("SELECT id, deleted, update_count FROM inserts")
      created = Connection.new.query("WITH a AS (SELECT 1) SELECT * FROM a")
      [deleted, created]
    end
  RUBY

  case_of "a controller's action of Rails", lines: [7, 8, 9], saves: 0.2, source: <<~'RUBY'
    class DashboardController
      def initialize(params) = @params = params

      def index
        return { redirect: "/login" } if @params[:user_id].nil?

        @orders = Model.where(user_id: @params[:user_id], state: "open", for_s: 0.1)
        @weather = HTTP.get("/weather?city=#{@params.fetch(:city, "Rome")}", 0.2)
        @tickets = HTTP.get("/tickets?user=#{@params[:user_id]}", 0.1)
        render(:index, locals: { orders: @orders, weather: @weather, tickets: @tickets })
      end

      def render(template, locals:) = "#{template} #{locals.keys.join(",")}"
    end

    def show = DashboardController.new({ user_id: 1 }).index
  RUBY

  case_of "a pure function of the first between", lines: [2, 5], saves: 0.1, source: <<~'RUBY'
    def show
      text = HTTP.get("/text", 0.1)
      words = count(text)
      letters = text.delete(" ").size
      stars = HTTP.get("/stars", 0.1)
      { words: words, letters: letters, stars: stars }
    end

    def count(text) = text.split.size
  RUBY

  case_of "a guard that raises on the params", lines: [4, 5], saves: 0.1, source: <<~'RUBY'
    def show
      params = { from: "2026-01", to: "2026-02" }
      raise ArgumentError, "order" if params[:from] > params[:to]
      left = HTTP.get("/month/#{params[:from]}", 0.1)
      right = HTTP.get("/month/#{params[:to]}", 0.1)
      left == right
    end
  RUBY

  case_of "a list of rows is only counted", lines: [2, 4], saves: 0.05, source: <<~'RUBY'
    def show
      rows = Model.where(state: "open")
      total = rows.map(&:id).sum
      rate = HTTP.get("/rate", 0.05)
      [total, rate]
    end
  RUBY

  case_of "a block builds the page", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      layout do
        menu = HTTP.get("/menu", 0.1)
        body = HTTP.get("/body", 0.1)
        "#{menu}#{body}"
      end
    end

    def layout
      "<html>#{yield}</html>"
    end
  RUBY

  case_of "the same helper with other arguments", lines: [2, 3, 4], saves: 0.2,
    source: <<~'RUBY'
      def show
        today = sales("2026-11-28")
        yesterday = sales("2026-11-27")
        last_week = sales("2026-11-21")
        [today, yesterday, last_week]
      end

      def sales(day)
        HTTP.get("/sales?day=#{day}", 0.1)
      end
    RUBY

  case_of "a private method makes the URL", lines: [10, 11], saves: 0.1, source: <<~'RUBY'
    class Directory
      HOST = "https://dir.test"

      def initialize(tenant)
        @tenant = tenant
        @version = 2
      end

      def both
        people = HTTP.get(url("people"), 0.1)
        places = HTTP.get(url("places"), 0.1)
        [people, places]
      end

      private

      def url(kind) = "#{HOST}/v#{@version}/#{@tenant}/#{kind}"
    end

    def show = Directory.new("acme").both
  RUBY

  case_of "each variable is reused for its own", lines: [2, 4], saves: 0.1, source: <<~'RUBY'
    def show
      left = HTTP.get("/left", 0.1)
      left = left.upcase
      right = HTTP.get("/right", 0.1)
      right = right.upcase
      left + right
    end
  RUBY

  case_of "a guard between two pairs", lines: [2, 3, 6, 7], saves: 0.2, source: <<~'RUBY'
    def show
      user = HTTP.get("/user", 0.1)
      team = HTTP.get("/team", 0.1)
      return "401" if user.empty? || team.empty?

      feed = HTTP.get("/feed?user=#{user}", 0.1)
      news = HTTP.get("/news?team=#{team}", 0.1)
      [feed, news]
    end
  RUBY

  case_of "one of the two feeds a later write", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      user = Model.find(1)
      greeting = HTTP.get("/greeting", 0.1)
      Model.create!(seen_by: user.id)
      greeting
    end
  RUBY

  case_of "the later of three needs the first", lines: [3], also: [2, 4], saves: 0.1,
    source: <<~'RUBY'
      def show
        user = HTTP.get("/user", 0.1)
        rates = HTTP.get("/rates", 0.1)
        cart = HTTP.get("/cart?user=#{user}", 0.1)
        [rates, cart]
      end
    RUBY

  case_of "views of one page", lines: [6, 7, 8], saves: 0.2, source: <<~'RUBY'
    class Page
      def initialize(id) = @id = id

      def render
        [
          header,
          body,
          footer
        ].join("\n")
      end

      def header = "<h1>#{HTTP.get("/header/#{@id}", 0.1)}</h1>"
      def body = "<p>#{HTTP.get("/body/#{@id}", 0.2)}</p>"
      def footer = "<small>#{HTTP.get("/footer/#{@id}", 0.1)}</small>"
    end

    def show = Page.new(1).render
  RUBY

  case_of "the memo of the view is asked twice", lines: [2, 3], also: [4], saves: 0.1,
    source: <<~'RUBY'
      def show
        title = user.upcase
        footer = HTTP.get("/footer", 0.1)
        "#{title} #{footer} #{user}"
      end

      def user = @user ||= HTTP.get("/user", 0.1)
    RUBY

  case_of "added up in a local", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      total = 0
      total += HTTP.get("/net", 0.1).size
      total += HTTP.get("/tax", 0.1).size
      total
    end
  RUBY

  case_of "two relations", lines: [4, 5], also: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      posts = Relation.new(state: "new")
      tags = Relation.new(kind: "tag")
      names = posts.map(&:name)
      words = tags.map(&:name)
      names + words
    end
  RUBY

  case_of "a relation is loaded while another service answers", lines: [3, 4], also: [2],
    saves: 0.05, source: <<~'RUBY'
      def show
        posts = Relation.new(state: "new")
        likes = HTTP.get("/likes", 0.1)
        names = posts.map(&:name)
        { names: names, likes: likes }
      end
    RUBY

  case_of "the page is a local, not changed", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      page = 2
      rows = HTTP.get("/rows?page=#{page}", 0.1)
      total = HTTP.get("/total?page=#{page}", 0.1)
      [rows, total, page + 1]
    end
  RUBY

  case_of "a list that is filled before and after", lines: [3, 4], saves: 0.1,
    source: <<~'RUBY'
      def show
        ids = [1, 2]
        prices = HTTP.get("/prices?ids=#{ids}", 0.1)
        stocks = HTTP.get("/stocks?ids=#{ids}", 0.1)
        ids << 3
        [prices, stocks, ids]
      end
    RUBY

  case_of "or-assignment of two names", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      @user ||= HTTP.get("/user", 0.1)
      @rates ||= HTTP.get("/rates", 0.1)
      [@user, @rates]
    end
  RUBY

  case_of "two loaders and what they found", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    class Profile
      def initialize(id) = @id = id

      def load
        load_bio
        load_links
        "#{@bio} #{@links}"
      end

      private

      def load_bio
        @bio = HTTP.get("/bio/#{@id}", 0.1)
      end

      def load_links
        @links = HTTP.get("/links/#{@id}", 0.2)
      end
    end

    def show = Profile.new(1).load
  RUBY

  case_of "attributes of a struct", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    Page = Struct.new(:menu, :body)

    def show
      page = Page.new
      page.menu = HTTP.get("/menu", 0.1)
      page.body = HTTP.get("/body", 0.1)
      page.to_a.join
    end
  RUBY

  case_of "a match on each answer", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      left = HTTP.get("/left", 0.1)[/to (.*)/, 1]
      right = HTTP.get("/right", 0.1)[/to (.*)/, 1]
      [left, right]
    end
  RUBY

  case_of "guards of both results afterwards", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      seller = HTTP.get("/seller", 0.1)
      buyer = HTTP.get("/buyer", 0.1)
      raise ArgumentError, "seller" if seller.empty?
      raise ArgumentError, "buyer" if buyer.empty?

      [seller, buyer]
    end
  RUBY

  case_of "a service with injected clients", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    class Quote
      def initialize(prices:, stock:) = (@prices, @stock = prices, stock)

      def call(sku)
        price = @prices.get("/prices/#{sku}", for_s: 0.1).body
        stock = @stock.get("/stock/#{sku}", for_s: 0.2).body
        { price: price["id"], stock: stock["id"] }
      end
    end

    def show
      Quote.new(prices: Faraday.new("https://p.test"), stock: Faraday.new("https://s.test"))
           .call("boots")
    end
  RUBY

  case_of "rows and their count", lines: [8, 9], saves: 0.05, source: <<~'RUBY'
    class Listing
      PER_PAGE = 20

      def initialize(page: 1) = @page = page

      def to_h
        {
          rows: Model.where(offset: offset, limit: PER_PAGE).map(&:name),
          total: Model.count(for_s: 0.1)
        }
      end

      private

      def offset = (@page - 1) * PER_PAGE
    end

    def show = Listing.new(page: 2).to_h
  RUBY

  case_of "an optional argument decides", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      short = summary("a")
      long = summary("b", full: true)
      [short, long]
    end

    def summary(name, full: false)
      return HTTP.get("/full/#{name}", 0.2) if full

      HTTP.get("/short/#{name}", 0.1)
    end
  RUBY

  case_of "each in a class of its own", lines: [14, 15], saves: 0.1, source: <<~'RUBY'
    class Weather
      def initialize(city) = @city = city
      def call = HTTP.get("/weather/#{@city}", 0.1)
    end

    class Traffic
      def initialize(city) = @city = city
      def call = HTTP.get("/traffic/#{@city}", 0.2)
    end

    def show
      city = "Rome"
      {
        weather: Weather.new(city).call,
        traffic: Traffic.new(city).call
      }
    end
  RUBY

  case_of "a case of the params around both", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    def show
      params = { view: "full" }
      case params
      in { view: "full" }
        body = HTTP.get("/body", 0.1)
        side = HTTP.get("/side", 0.1)
        body + side
      in { view: "short" }
        HTTP.get("/short")
      end
    end
  RUBY

  case_of "a transaction after both", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      rate = HTTP.get("/rate", 0.1)
      fee = HTTP.get("/fee", 0.1)
      Model.transaction do
        Model.create!(rate: rate)
        Model.create!(fee: fee)
      end
      "201"
    end
  RUBY

  case_of "a loop over the first's rows that does not wait", lines: [2, 4], saves: 0.05,
    source: <<~'RUBY'
      def show
        rows = Model.where(state: "open")
        names = rows.each_with_object([]) { |row, list| list << row.name }
        banner = HTTP.get("/banner", 0.1)
        [names, banner]
      end
    RUBY
end
