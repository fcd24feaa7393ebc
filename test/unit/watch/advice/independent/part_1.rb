# frozen_string_literal: true

AdviceCases::INDEPENDENT.add do
  case_of "two locals", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      user = Model.find(1)
      rates = HTTP.get("/rates", 0.2)
      "#{user.name} #{rates}"
    end
  RUBY

  case_of "three of different lengths", lines: [2, 3, 4], saves: 0.25, source: <<~'RUBY'
    def show
      weather = HTTP.get("/weather", 0.3)
      news = HTTP.get("/news", 0.2)
      user = Model.find(1)
      [weather, news, user.name]
    end
  RUBY

  case_of "instance variables of an action", lines: [2, 3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      @posts = Model.where(published: true)
      @tags = Model.all
      @authors = Model.pluck(:author)
      render
    end

    def render
      [@posts, @tags, @authors].map(&:size)
    end
  RUBY

  case_of "helpers that each wait", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      user = current_user
      banner = marketing_banner
      { user: user.name, banner: banner }
    end

    def current_user
      Model.find_by(session: "s", for_s: 0.15)
    end

    def marketing_banner
      HTTP.get("/banner")
    end
  RUBY

  case_of "memoized helpers", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      title = user.name
      footer = "1 EUR = #{rates}"
      [title, footer]
    end

    def user
      @user ||= Model.find(1)
    end

    def rates
      @rates ||= HTTP.get("/rates")
    end
  RUBY

  case_of "a hash built inline", lines: [3, 4, 5], saves: 0.2, source: <<~'RUBY'
    def show
      {
        user: Model.find(1, for_s: 0.1),
        orders: HTTP.get("/orders", 0.3),
        coupons: HTTP.get("/coupons", 0.1)
      }
    end
  RUBY

  case_of "an interpolated string", lines: [2], saves: 0.1, source: <<~'RUBY'
    def show
      "<main>#{HTTP.get("/content", 0.2)}</main><aside>#{HTTP.get("/ads", 0.1)}</aside>"
    end
  RUBY

  case_of "arguments of one call", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      render(
        HTTP.get("/header", 0.1),
        HTTP.get("/footer", 0.2)
      )
    end

    def render(header, footer)
      header + footer
    end
  RUBY

  case_of "keyword arguments", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      page(
        author: Model.find(1),
        quotes: HTTP.get("/quotes")
      )
    end

    def page(author:, quotes:)
      "#{author.name}: #{quotes}"
    end
  RUBY

  case_of "multiple assignment on one line", lines: [2], saves: 0.05, source: <<~'RUBY'
    def show
      user, rates = Model.find(1), HTTP.get("/rates")
      [user.name, rates]
    end
  RUBY

  case_of "a chain beside a single wait", lines: [3, 4], also: [2], saves: 0.2,
    source: <<~'RUBY'
      def show
        user = HTTP.get("/user", 0.1)
        orders = HTTP.get("/orders?user=#{user}", 0.2)
        rates = HTTP.get("/rates", 0.2)
        [orders, rates]
      end
    RUBY

  case_of "both need a third", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      user = Model.find(1)
      orders = HTTP.get("/orders/#{user.id}", 0.3)
      letters = HTTP.get("/letters/#{user.id}", 0.1)
      [orders, letters]
    end
  RUBY

  case_of "two chains", lines: [3, 5], also: [2, 4], saves: 0.3, source: <<~'RUBY'
    def show
      user = Model.find(1, for_s: 0.1)
      orders = HTTP.get("/orders/#{user.id}", 0.2)
      shop = Model.find_by(host: "a.test", for_s: 0.1)
      stock = HTTP.get("/stock/#{shop.id}", 0.3)
      [orders, stock]
    end
  RUBY

  case_of "two feed a third", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      user = Model.find(1)
      region = HTTP.get("/region", 0.05)
      HTTP.get("/offers?user=#{user.id}&region=#{region}", 0.2)
    end
  RUBY

  case_of "logging between", lines: [3, 5], saves: 0.1, source: <<~'RUBY'
    def show
      log("loading the feed")
      feed = HTTP.get("/feed", 0.2)
      log("loading the menu")
      menu = HTTP.get("/menu", 0.1)
      log("done")
      [feed, menu]
    end

    def log(text)
      @lines = [*@lines, text]
    end
  RUBY

  case_of "the first's result is worked on between", lines: [2, 5], saves: 0.1, source: <<~'RUBY'
    def show
      text = HTTP.get("/article", 0.1)
      words = text.split
      minutes = (words.size / 200.0).ceil
      related = HTTP.get("/related", 0.2)
      { minutes: minutes, related: related }
    end
  RUBY

  case_of "a guard on the params between", lines: [5, 8], saves: 0.1, source: <<~'RUBY'
    PARAMS = { id: "7", page: "1" }.freeze

    def show
      id = Integer(PARAMS.fetch(:id))
      article = HTTP.get("/articles/#{id}", 0.2)
      return "400" unless PARAMS[:page].match?(/\A\d+\z/)

      comments = HTTP.get("/comments?article=#{id}", 0.1)
      [article, comments]
    end
  RUBY

  case_of "the guard comes after both", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      user = Model.find_by(email: "a@b.test")
      rates = HTTP.get("/rates")
      return "404" unless user

      "#{user.name} #{rates}"
    end
  RUBY

  case_of "early returns before both", lines: [7, 8], saves: 0.1, source: <<~'RUBY'
    def show
      params = { q: "boots" }
      return [] if params[:q].nil?
      return [] if params[:q].empty?

      query = params[:q].downcase
      products = HTTP.get("/products?q=#{query}", 0.1)
      guides = HTTP.get("/guides?q=#{query}", 0.1)
      [products, guides]
    end
  RUBY

  case_of "tap only logs", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      user = HTTP.get("/user").tap { |found| note("user #{found.size}") }
      plans = HTTP.get("/plans", 0.3).tap { |found| note("plans #{found.size}") }
      [user, plans]
    end

    def note(text)
      text.upcase
    end
  RUBY

  case_of "then shapes each", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      names = Model.where(active: true).then { |rows| rows.map(&:name) }
      total = HTTP.get("/total").then { |text| text.size }
      { names: names, total: total }
    end
  RUBY

  case_of "a presenter is given both", lines: [9], saves: 0.05, source: <<~'RUBY'
    class Presenter
      def initialize(user, rates)
        @user = user
        @rates = rates
      end

      def to_s = "#{@user.name} pays #{@rates}"
    end
    def show = Presenter.new(Model.find(1), HTTP.get("/rates")).to_s
  RUBY

  case_of "a presenter asks for each when it is shown", lines: [5, 6], saves: 0.1,
    source: <<~'RUBY'
      class Dashboard
        def initialize(team_id) = @team_id = team_id

        def to_h
          { members: members.size,
            usage: usage }
        end

        private

        def members = Model.where(team_id: @team_id, for_s: 0.1)
        def usage = HTTP.get("/usage/#{@team_id}", 0.2)
      end

      def show
        Dashboard.new(3).to_h
      end
    RUBY

  case_of "a struct with keywords", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    Trip = Struct.new(:hotel, :flight, keyword_init: true)

    def show
      trip = Trip.new(
        hotel: HTTP.get("/hotels/1", 0.4),
        flight: HTTP.get("/flights/1", 0.1)
      )
      trip.to_a.join
    end
  RUBY

  case_of "case chooses the first's path", lines: [4, 7], saves: 0.1, source: <<~'RUBY'
    def show
      kind = "weekly"
      chart = case kind
              when "weekly" then HTTP.get("/charts/week", 0.1)
              else HTTP.get("/charts/day", 0.1)
              end
      legend = HTTP.get("/legend", 0.1)
      [chart, legend]
    end
  RUBY

  case_of "a ternary on the params", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      mobile = "iPhone".match?(/iphone/i)
      menu = mobile ? HTTP.get("/menu/small") : HTTP.get("/menu/large")
      cart = HTTP.get("/cart")
      [menu, cart]
    end
  RUBY

  case_of "each has its own rescue", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      weather = weather_or_none
      traffic = traffic_or_none
      [weather, traffic].compact
    end

    def weather_or_none
      HTTP.get("/weather", 0.2)
    rescue IOError
      nil
    end

    def traffic_or_none
      HTTP.get("/traffic", 0.1)
    rescue IOError
      nil
    end
  RUBY

  case_of "begin and rescue inline", lines: [3, 8], saves: 0.1, source: <<~'RUBY'
    def show
      price = begin
        HTTP.get("/price", 0.1)
      rescue SocketError, IOError
        "?"
      end
      stock = begin
        HTTP.get("/stock", 0.1)
      rescue SocketError, IOError
        "?"
      end
      "#{price} (#{stock})"
    end
  RUBY

  case_of "heredoc SQL", lines: [2, 7], saves: 0.2, source: <<~'RUBY'
    def show
      top = Model.find_by_sql(<<~SQL, for_s: 0.2)
        SELECT sku, sum(amount)
        FROM sales
        GROUP BY sku
      SQL
      late = Model.find_by_sql(<<~SQL, for_s: 0.3)
        SELECT id FROM orders WHERE due < now()
      SQL
      [top.size, late.size]
    end
  RUBY

  case_of "class methods", lines: [12, 13], saves: 0.1, source: <<~'RUBY'
    class Rates
      BASE = "EUR"
      def self.today = HTTP.get("/rates/#{BASE}", 0.1)
    end

    class Holidays
      COUNTRY = "de"
      def self.next = HTTP.get("/holidays/#{COUNTRY}", 0.2)
    end

    def show
      rates = Rates.today
      holiday = Holidays.next
      "#{rates} #{holiday}"
    end
  RUBY

  case_of "module functions", lines: [15, 16], saves: 0.1, source: <<~'RUBY'
    module Geo
      module_function

      def city(ip)
        HTTP.get("/city?ip=#{ip}", 0.1)
      end

      def currency(code)
        HTTP.get("/currency?country=#{code}", 0.1)
      end
    end

    def show
      request = { ip: "10.0.0.1", country: "DE" }
      city = Geo.city(request[:ip])
      currency = Geo.currency(request[:country])
      [city, currency]
    end
  RUBY

  case_of "a helper that measures a block", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      user = measure("user") { HTTP.get("/user", 0.1) }
      cart = measure("cart") { HTTP.get("/cart", 0.1) }
      [user, cart]
    end

    def measure(name)
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
    ensure
      warn(name) if Process.clock_gettime(Process::CLOCK_MONOTONIC) - started > 60
    end
  RUBY

  case_of "a client that keeps only its URL", lines: [14, 15], saves: 0.1, source: <<~'RUBY'
    class Shop
      def initialize(url)
        @url = url
        @http = Faraday.new(url)
      end

      def product(id) = @http.get("/products/#{id}", for_s: 0.2).body
      def reviews(id) = @http.get("/products/#{id}/reviews", for_s: 0.1).body
    end

    def show
      shop = Shop.new("https://shop.test")
      id = 7
      product = shop.product(id)
      reviews = shop.reviews(id)
      { product: product, reviews: reviews }
    end
  RUBY

  case_of "a page is a hash, filled key by key", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      page = {}
      page[:user] = Model.find(1)
      page[:rates] = HTTP.get("/rates")
      page.keys
    end
  RUBY

  case_of "parts are appended in order", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      parts = []
      parts << HTTP.get("/head", 0.1)
      parts << HTTP.get("/body", 0.2)
      parts.join("\n")
    end
  RUBY

  case_of "both in one branch", lines: [4, 5], saves: 0.1, source: <<~'RUBY'
    def show
      format = "html"
      if format == "html"
        menu = HTTP.get("/menu", 0.1)
        body = HTTP.get("/body", 0.3)
        menu + body
      else
        "{}"
      end
    end
  RUBY

  case_of "two in a callee", lines: [8, 9], saves: 0.1, source: <<~'RUBY'
    def show
      summary = sales_summary
      "summary: #{summary}"
    end

    def sales_summary
      month = "2026-11"
      sales = HTTP.get("/sales/#{month}", 0.2)
      returns = HTTP.get("/returns/#{month}", 0.1)
      sales.size - returns.size
    end
  RUBY

  case_of "two in a callee and one beside it", lines: [3, 8, 9], also: [2], saves: 0.3,
    source: <<~'RUBY'
      def show
        figures = figures_of("2026-11")
        people = HTTP.get("/people", 0.2)
        [figures, people]
      end

      def figures_of(month)
        sales = HTTP.get("/sales/#{month}", 0.2)
        returns = HTTP.get("/returns/#{month}", 0.1)
        sales.size - returns.size
      end
    RUBY

  case_of "safe navigation after", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      owner = Model.find_by(slug: "a")
      limits = HTTP.get("/limits")
      { owner: owner&.name || "nobody", limits: limits }
    end
  RUBY

  case_of "a service object", lines: [10, 11], saves: 0.1, source: <<~'RUBY'
    class BuildQuote
      def self.call(...) = new(...).call

      def initialize(sku:, zip:)
        @sku = sku
        @zip = zip
      end

      def call
        price = fetch_price
        shipping = fetch_shipping
        { price: price, shipping: shipping, sum: price.size + shipping.size }
      end

      private

      def fetch_price = HTTP.get("/prices/#{@sku}", 0.1)
      def fetch_shipping = HTTP.get("/shipping?zip=#{@zip}", 0.3)
    end

    def show = BuildQuote.call(sku: "boots", zip: "10115")
  RUBY

  case_of "a service object that keeps its results", lines: [10, 11], saves: 0.05,
    source: <<~'RUBY'
      class Overview
        attr_reader :team, :usage

        def initialize(id)
          @id = id
          @errors = []
        end

        def load
          load_team
          load_usage
          self
        end

        private

        def load_team = @team = Model.find(@id)
        def load_usage = @usage = HTTP.get("/usage/#{@id}")
      end

      def show
        overview = Overview.new(1).load
        [overview.team.name, overview.usage]
      end
    RUBY

  case_of "a decorated client", lines: [11, 12], saves: 0.1, source: <<~'RUBY'
    class Logged
      def initialize(client, prefix) = (@client, @prefix = client, prefix)

      def get(path)
        @client.get("#{@prefix}#{path}", for_s: 0.1)
      end
    end

    def show
      api = Logged.new(Faraday.new, "/v2")
      people = api.get("/people").body
      places = api.get("/places").body
      [people, places]
    end
  RUBY

  case_of "ensure around both", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      @busy = true
      left = HTTP.get("/left", 0.1)
      right = HTTP.get("/right", 0.2)
      [left, right]
    ensure
      @busy = false
    end
  RUBY

  case_of "nested routes", lines: [4, 5], saves: 0.05, source: <<~'RUBY'
    def show
      on("teams") do
        on("1") do
          team = Model.find(1)
          quota = HTTP.get("/quota", 0.05)
          "#{team.name} #{quota}"
        end
      end
    end

    def on(segment)
      yield if "/teams/1".include?(segment)
    end
  RUBY

  case_of "a before-step and the action", lines: [2, 3], also: [8, 12], saves: 0.05,
    source: <<~'RUBY'
      def show
        set_user
        index
        "#{@user.name} #{@news}"
      end

      def set_user
        @user = Model.find(1)
      end

      def index
        @news = HTTP.get("/news")
      end
    RUBY

  case_of "a chain on one line beside another wait", lines: [2, 3], saves: 0.1,
    source: <<~'RUBY'
      def show
        boss = Model.find(1).owner
        menu = HTTP.get("/menu", 0.1)
        [boss.name, menu]
      end
    RUBY
end
