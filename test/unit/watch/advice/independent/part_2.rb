# frozen_string_literal: true

AdviceCases::INDEPENDENT.add do
  case_of "associations of one row", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      order = Model.new(1)
      buyer = order.owner(for_s: 0.1)
      lines = order.items(for_s: 0.2)
      { buyer: buyer.name, lines: lines.size }
    end
  RUBY

  case_of "sums of counts", lines: [2], saves: 0.05, source: <<~'RUBY'
    def show
      open = Model.count(state: "open") + Model.count(state: "late")
      "#{open} open"
    end
  RUBY

  case_of "a comparison after", lines: [3, 4], saves: 0.2, source: <<~'RUBY'
    def show
      year = 2026
      now = Model.sum(:sales, year: year, for_s: 0.2)
      before = Model.sum(:sales, year: year - 1, for_s: 0.2)
      now > before ? "up" : "down"
    end
  RUBY

  case_of "two reads of Redis with a key each", lines: [4, 5], saves: 0.02, source: <<~'RUBY'
    def show
      redis = Redis.new
      id = 7
      seen = redis.get("seen:#{id}")
      likes = redis.get("likes:#{id}", for_s: 0.05)
      [seen, likes]
    end
  RUBY

  case_of "a write before two reads", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      HTTP.post("/visits")
      today = HTTP.get("/visits/today", 0.1)
      week = HTTP.get("/visits/week", 0.2)
      [today, week]
    end
  RUBY

  case_of "two reads before a write of both", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      cpu = HTTP.get("/cpu", 0.1)
      disk = HTTP.get("/disk", 0.1)
      Model.create!(cpu: cpu, disk: disk)
      "204"
    end
  RUBY

  case_of "a helper with a counter", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      @calls = 0
      users = ask("/users")
      teams = ask("/teams")
      "#{users} #{teams} (#{@calls} calls)"
    end

    def ask(path)
      @calls += 1
      HTTP.get(path, 0.1)
    end
  RUBY

  case_of "a guard on the first, then two", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    def show
      account = Model.find_by(token: "t")
      return "401" unless account

      bills = HTTP.get("/bills/#{account.id}", 0.1)
      tickets = HTTP.get("/tickets/#{account.id}", 0.3)
      [bills, tickets]
    end
  RUBY

  case_of "names that look alike", lines: [2, 4], saves: 0.1, source: <<~'RUBY'
    def show
      order = HTTP.get("/order", 0.1)
      orders = []
      carts = HTTP.get("/carts?known=#{orders.size}", 0.1)
      [order, carts]
    end
  RUBY

  case_of "a block's parameter has the first's name", lines: [2, 3], saves: 0.1,
    source: <<~'RUBY'
      def show
        row = HTTP.get("/row", 0.1)
        list = [1, 2].map { |row| row + 1 }.then { |ids| HTTP.get("/list?ids=#{ids}", 0.2) }
        [row, list]
      end
    RUBY

  case_of "the variable is assigned anew between", lines: [2, 5], saves: 0.1, source: <<~'RUBY'
    def show
      answer = HTTP.get("/a", 0.1)
      first = answer
      answer = "none"
      second = HTTP.get("/b?#{answer}", 0.1)
      [first, second]
    end
  RUBY

  case_of "destructuring and splats", lines: [2, 3], saves: 0.05, source: <<~'RUBY'
    def show
      newest, *older = Model.where(kind: "post")
      pinned, = HTTP.get("/pinned").split
      [newest.name, older.size, pinned]
    end
  RUBY

  case_of "pattern matching on each answer", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      http = Faraday.new
      http.get("/me").body.transform_keys(&:to_sym) => { id: }
      http.get("/zones").body.transform_keys(&:to_sym) => { next: zone }
      "#{id} in #{zone}"
    end
  RUBY

  case_of "memoized in one hash, each under its key", lines: [2, 3], saves: 0.1,
    source: <<~'RUBY'
      def show
        rates = cached(:rates) { HTTP.get("/rates", 0.1) }
        taxes = cached(:taxes) { HTTP.get("/taxes", 0.2) }
        [rates, taxes]
      end

      def cached(key)
        @cached ||= {}
        @cached[key] ||= yield
      end
    RUBY

  case_of "inherited actions", lines: [6, 7], saves: 0.05, source: <<~'RUBY'
    class Base
      def render(**values) = values.map { |name, value| "#{name}=#{value}" }.join("&")
    end
    class Home < Base
      def call
        stars = HTTP.get("/stars", 0.05)
        posts = Model.count
        render(stars:, posts:)
      end
    end

    def show = Home.new.call
  RUBY

  case_of "four in two pairs", lines: [2, 3, 5, 6], saves: 0.2, source: <<~'RUBY'
    def show
      user = HTTP.get("/user", 0.1)
      shop = HTTP.get("/shop", 0.1)
      HTTP.put("/visits?user=#{user}&shop=#{shop}")
      offers = HTTP.get("/offers", 0.1)
      points = HTTP.get("/points", 0.1)
      [offers, points]
    end
  RUBY

  case_of "a hash merged from two", lines: [2], saves: 0.1, source: <<~'RUBY'
    def show
      HTTP.get("/left", 0.1).then { |a| { a: a } }.merge(b: HTTP.get("/right", 0.1))
    end
  RUBY

  case_of "returned together", lines: [2], saves: 0.1, source: <<~'RUBY'
    def show
      return HTTP.get("/left", 0.1), HTTP.get("/right", 0.2)
    end
  RUBY

  case_of "compared", lines: [2], saves: 0.1, source: <<~'RUBY'
    def show
      HTTP.get("/left", 0.1) == HTTP.get("/right", 0.1) ? "same" : "different"
    end
  RUBY

  case_of "pushed together", lines: [4, 5], saves: 0.05, source: <<~'RUBY'
    def show
      list = []
      list.push(
        Model.count,
        HTTP.get("/count", 0.1)
      )
      list.map(&:to_s)
    end
  RUBY

  case_of "a constructor asks for both", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    class Report
      attr_reader :sales, :visits

      def initialize(month)
        @sales = HTTP.get("/sales/#{month}", 0.2)
        @visits = HTTP.get("/visits/#{month}", 0.1)
      end
    end

    def show
      report = Report.new("2026-11")
      [report.sales, report.visits]
    end
  RUBY

  case_of "one rescue around both", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      begin
        offers = HTTP.get("/offers", 0.1)
        prices = HTTP.get("/prices", 0.1)
      rescue IOError => e
        return "sorry: #{e.message}"
      end
      [offers, prices]
    end
  RUBY

  case_of "only if asked for", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      params = { news: "1", jobs: "1" }
      @news = HTTP.get("/news", 0.1) if params[:news]
      @jobs = HTTP.get("/jobs", 0.2) if params[:jobs]
      [@news, @jobs].compact
    end
  RUBY

  case_of "one only if asked for", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      params = { embed: "comments" }
      post = HTTP.get("/post", 0.1)
      comments = params[:embed] == "comments" ? HTTP.get("/comments", 0.1) : []
      { post: post, comments: comments }
    end
  RUBY

  case_of "the cache is asked for each", lines: [4, 5], saves: 0.12,
    source: <<~'RUBY'
      STORE = Cache.new

      def show
        rates = STORE.fetch("rates") { HTTP.get("/rates", 0.1) }
        taxes = STORE.fetch("taxes") { HTTP.get("/taxes", 0.2) }
        [rates, taxes]
      end
    RUBY

  case_of "instrumented", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      feed = instrument("feed.load") { HTTP.get("/feed", 0.1) }
      menu = instrument("menu.load") { HTTP.get("/menu", 0.2) }
      [feed, menu]
    end

    def instrument(name)
      yield
    rescue IOError => e
      raise IOError, "#{name}: #{e.message}"
    end
  RUBY

  case_of "a concern and a controller", lines: [14], saves: 0.05, source: <<~'RUBY'
    module Paginated
      def page = Integer(params.fetch(:page, 1))
      def per_page = 20
    end

    class PostsController
      include Paginated

      attr_reader :params

      def initialize(params) = @params = params

      def index
        render(posts: posts, total: total)
      end

      def render(posts:, total:) = "#{posts.size} of #{total}"
      def posts = Model.where(offset: (page - 1) * per_page)
      def total = Model.count(for_s: 0.1)
    end

    def show = PostsController.new({ page: "2" }).index
  RUBY

  case_of "three in a hash through a serializer", lines: [13, 14, 15], saves: 0.2,
    source: <<~'RUBY'
      class Json
        def self.dump(value)
          case value
          when Hash then value.map { |key, each| "#{key}:#{dump(each)}" }.join(",")
          when Array then value.map { |each| dump(each) }.join(",")
          else value.to_s
          end
        end
      end

      def show
        Json.dump(
          user: HTTP.get("/user", 0.1),
          teams: HTTP.get("/teams", 0.1),
          plans: HTTP.get("/plans", 0.1)
        )
      end
    RUBY

  case_of "a timer around each", lines: [5, 7], saves: 0.1, source: <<~'RUBY'
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def show
      started = now
      feed = HTTP.get("/feed", 0.1)
      log("feed", now - started)
      ads = HTTP.get("/ads", 0.1)
      [feed, ads]
    end

    def log(name, seconds)
      format("%s took %.3f s", name, seconds)
    end
  RUBY

  case_of "fallback values", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      greeting = HTTP.get("/greeting", 0.1) || "Hello"
      weather = HTTP.get("/weather", 0.3) || "fine"
      "#{greeting}, it is #{weather}"
    end
  RUBY

  case_of "safe navigation on the params", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      params = { filter: { kind: "news" } }
      posts = Model.where(kind: params[:filter]&.fetch(:kind))
      likes = HTTP.get("/likes/#{params.dig(:filter, :kind)}", 0.05)
      [posts.size, likes]
    end
  RUBY

  case_of "an update of the object before both", lines: [13, 14], saves: 0.1,
    source: <<~'RUBY'
      class Query
        def initialize = @where = {}

        def where(**more)
          @where.update(more)
          self
        end

        def to_s = @where.map { |pair| pair.join("=") }.join("&")
      end
      def show
        query = Query.new.where(kind: "news").where(year: 2026)
        rows = HTTP.get("/rows?#{query}", 0.1)
        total = HTTP.get("/total?#{query}", 0.1)
        [rows, total]
      end
    RUBY

  case_of "different models with a scope each", lines: [8, 9, 10], saves: 0.1, source: <<~'RUBY'
    class User < Model; end
    class Post < Model; end
    class Tag < Model; end

    def show
      since = "2026-11-01"
      {
        users: User.where("created_at > ?", since).size,
        posts: Post.where("created_at > ?", since).size,
        tags: Tag.where("created_at > ?", since).size
      }
    end
  RUBY

  case_of "a template's locals", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      locals = {}
      locals[:menu] = HTTP.get("/menu", 0.1)
      locals[:feed] = HTTP.get("/feed", 0.1)
      erb(:page, locals: locals)
    end

    def erb(name, locals:)
      "#{name}: #{locals.values.join}"
    end
  RUBY

  case_of "objects and documents", lines: [4, 5, 6], saves: 0.1, source: <<~'RUBY'
    def show
      store = S3.new
      posts = Mongo.new
      logo = store.get_object(bucket: "b", key: "logo")
      recent = posts.find({ state: "new" })
      hits = Search.new.search(index: "posts", q: "ruby")
      [logo, recent, hits].size
    end
  RUBY

  case_of "different sums over one list", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      ids = [1, 2, 3].map { |id| id * 2 }
      stock = HTTP.get("/stock?ids=#{ids.join(",")}", 0.2)
      price = HTTP.get("/price?ids=#{ids.join(",")}", 0.1)
      ids.zip([stock, price])
    end
  RUBY

  case_of "private readers of an interactor", lines: [7, 8], saves: 0.1, source: <<~'RUBY'
    class Transfer
      Result = Struct.new(:ok, :from, :to)

      def initialize(from, to) = (@from_id, @to_id = from, to)

      def preview
        from = account(@from_id)
        to = account(@to_id)
        Result.new(from.id != to.id, from, to)
      end

      private

      def account(id) = Model.find(id, for_s: 0.1)
    end

    def show = Transfer.new(1, 2).preview.to_a
  RUBY

  case_of "with a deadline around", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      within(2) do
        left = HTTP.get("/left", 0.1)
        right = HTTP.get("/right", 0.1)
        left + right
      end
    end

    def within(seconds)
      raise ArgumentError, "seconds" unless seconds.positive?

      yield
    end
  RUBY

  case_of "sorted afterwards", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      feeds = []
      feeds += [HTTP.get("/feeds/a", 0.1)]
      feeds += [HTTP.get("/feeds/b", 0.2)]
      feeds.sort.first
    end
  RUBY

  case_of "the second's argument is a default", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      hot = top
      cold = top("cold")
      [hot, cold]
    end

    def top(kind = "hot", count: 10)
      HTTP.get("/top?kind=#{kind}&count=#{count}", 0.1)
    end
  RUBY

  case_of "a chain of three beside two", lines: [5, 6], also: [2, 3, 4], saves: 0.2,
    source: <<~'RUBY'
      def show
        user = Model.find(1, for_s: 0.1)
        team = Model.find_by(owner: user.id, for_s: 0.1)
        plan = HTTP.get("/plan/#{team.id}", 0.1)
        news = HTTP.get("/news", 0.1)
        jobs = HTTP.get("/jobs", 0.1)
        [plan, news, jobs]
      end
    RUBY

  case_of "the guard looks at neither", lines: [6, 9], saves: 0.1, source: <<~'RUBY'
    ADMIN = true
    class Hidden < StandardError; end

    def show
      verify
      stats = HTTP.get("/stats", 0.1)
      raise Hidden unless ADMIN

      users = HTTP.get("/users", 0.1)
      [stats, users]
    end

    def verify; end
  RUBY

  case_of "a local of the same name in two methods", lines: [2, 3], saves: 0.1,
    source: <<~'RUBY'
      def show
        left = one
        right = two
        [left, right]
      end

      def one
        answer = HTTP.get("/one", 0.1)
        answer.upcase
      end

      def two
        answer = HTTP.get("/two", 0.1)
        answer.downcase
      end
    RUBY

  case_of "each object has its own variable of that name", lines: [10, 11], saves: 0.1,
    source: <<~'RUBY'
      class Feed
        def initialize(name) = @name = name
        def load = @text = HTTP.get("/feeds/#{@name}", 0.1)
        def to_s = @text.to_s
      end

      def show
        left = Feed.new("left")
        right = Feed.new("right")
        left.load
        right.load
        "#{left} #{right}"
      end
    RUBY

  case_of "calls that wait several times each", lines: [2, 3], saves: 0.11, source: <<~'RUBY'
    def show
      left = Web.get("/left", pieces: 2)
      right = Web.get("/right", pieces: 3)
      left + right
    end
  RUBY

  case_of "two datasets", lines: [4, 5], saves: 0.05, source: <<~'RUBY'
    DB = Sequel.new

    def show
      orders = DB[:orders].count
      users = DB[:users].all
      [orders, users]
    end
  RUBY

  case_of "reads by redis-client, on two connections", lines: [2, 3], saves: 0.02,
    source: <<~'RUBY'
      def show
        seen = RedisClient.new.call("GET", "seen")
        likes = RedisClient.new.call("HGETALL", "likes")
        [seen, likes]
      end
    RUBY

  case_of "reads of a service by other names", lines: [3, 4, 5], saves: 0.2, source: <<~'RUBY'
    def show
      aws = Sdk.new("Aws::EC2::Client")
      nodes = aws.describe_instances(max_results: 9)
      disks = aws.describe_volumes(max_results: 9)
      names = aws.list_tags(max_results: 9)
      [nodes, disks, names]
    end
  RUBY

  case_of "retrieved", lines: [4, 5], saves: 0.1, source: <<~'RUBY'
    def show
      customers = Sdk.new("Stripe::Customer")
      prices = Sdk.new("Stripe::Price")
      customer = customers.retrieve("cus_1")
      price = prices.retrieve("price_1", for_s: 0.2)
      [customer["id"], price["id"]]
    end
  RUBY

  case_of "requests that are GETs", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      http = NetHTTP.new
      left = http.request(NetHTTP::Get.new("/left"))
      right = NetHTTP.new.request(NetHTTP::Get.new("/right"))
      [left, right]
    end
  RUBY

  case_of "the verb is an option: get", lines: [2, 3], saves: 0.1, source: <<~'RUBY'
    def show
      left = RestClient.execute(method: :get, url: "/left")
      right = RestClient.execute(method: :get, url: "/right")
      [left, right]
    end
  RUBY
end
