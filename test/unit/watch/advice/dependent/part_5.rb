# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "what runs already is waited for in turn", source: <<~'RUBY'
    def show
      left = Waiting.new
      right = Waiting.new
      left.join
      right.join
      "both are done"
    end
  RUBY

  case_of "two answers come from one queue", source: <<~'RUBY'
    def show
      answers = Waiting.new
      first = answers.pop
      second = answers.pop
      [first, second]
    end
  RUBY

  case_of "a turn at one pool inside of another's", source: <<~'RUBY'
    OUTER = Pool.new { Connection.new }
    INNER = Pool.new { Redis.new }

    def show
      OUTER.with do |db|
        INNER.with { |redis| [db, redis].size }
      end
    end
  RUBY

  case_of "a middleware puts the user into env", source: <<~'RUBY'
    class Auth
      def initialize(app) = @app = app

      def call(env)
        env["app.user"] = Model.find_by(token: env["HTTP_TOKEN"])
        @app.call(env)
      end
    end

    class App
      def call(env) = [200, {}, [HTTP.get("/feed/#{env["app.user"].id}")]]
    end

    def show
      Auth.new(App.new).call({ "HTTP_TOKEN" => "t" })
    end
  RUBY

  case_of "a middleware lets nobody pass", source: <<~'RUBY'
    class Auth
      def initialize(app) = @app = app

      def call(env)
        return [401, {}, []] unless known?(env["HTTP_TOKEN"])

        @app.call(env)
      end

      def known?(token) = !Model.find_by(token: token).nil?
    end

    def show
      Auth.new(->(_env) { [200, {}, [HTTP.get("/feed")]] }).call({ "HTTP_TOKEN" => "t" })
    end
  RUBY

  case_of "a store of the request", source: <<~'RUBY'
    module RequestStore
      def self.store = @store ||= {}
    end

    def show
      RequestStore.store[:user] = Model.find(1)
      Mailbox.count
    end

    class Mailbox
      def self.count = HTTP.get("/mails?user=#{RequestStore.store[:user].id}")
    end
  RUBY

  case_of "a singleton keeps it", source: <<~'RUBY'
    require "singleton"

    class Session
      include Singleton
      attr_accessor :user
    end

    def show
      Session.instance.user = Model.find(1)
      HTTP.get("/history/#{Session.instance.user.id}")
    end
  RUBY

  case_of "the class of the object keeps it", source: <<~'RUBY'
    class Api
      class << self
        attr_accessor :token
      end

      def login = self.class.token = HTTP.post("/login")
      def me = HTTP.get("/me", 0.1, token: self.class.token)
    end

    def show
      Api.new.login
      Api.new.me
    end
  RUBY

  case_of "options are a memo", source: <<~'RUBY'
    def show
      options[:shop] = Model.find(1).id
      search
    end

    def options
      @options ||= {}
    end

    def search
      HTTP.get("/search?shop=#{options[:shop]}")
    end
  RUBY

  case_of "a helper fills an instance variable's hash", source: <<~'RUBY'
    def show
      @meta = {}
      describe(@meta)
      HTTP.get("/preview?title=#{@meta[:title]}")
    end

    def describe(target)
      target[:title] = HTTP.get("/title")
    end
  RUBY

  case_of "a part of a page is filled", source: <<~'RUBY'
    class Page
      attr_reader :meta

      def initialize = @meta = {}
      def url = "/preview?title=#{@meta[:title]}"
    end

    def show
      page = Page.new
      fill(page.meta)
      HTTP.get(page.url)
    end

    def fill(meta)
      meta[:title] = HTTP.get("/title")
    end
  RUBY

  case_of "handlers in a hash", source: <<~'RUBY'
    def show
      handlers = {
        load: -> { @user = Model.find(1) },
        feed: -> { HTTP.get("/feed/#{@user.id}") }
      }
      handlers[:load].call
      handlers[:feed].call
    end
  RUBY

  case_of "a block sets a local", source: <<~'RUBY'
    def show
      name = "nobody"
      with_user { |user| name = user.name }
      HTTP.get("/greet?name=#{name}")
    end

    def with_user
      yield Model.find(1)
    end
  RUBY

  case_of "each_with_object of a list that is used later", source: <<~'RUBY'
    def show
      ids = []
      Model.where(kind: "a").each_with_object(ids) { |row, list| list << row.id }
      HTTP.get("/batch?ids=#{ids.join(",")}")
    end
  RUBY

  case_of "an event and its listener", source: <<~'RUBY'
    class Bus
      def initialize = @listeners = Hash.new { |all, name| all[name] = [] }
      def on(name, &listener) = @listeners[name] << listener
      def emit(name, value) = @listeners[name].each { |listener| listener.call(value) }
    end

    def show
      bus = Bus.new
      bus.on(:user) { |user| @user = user }
      bus.emit(:user, Model.find(1))
      HTTP.get("/badges/#{@user.id}")
    end
  RUBY

  case_of "a result that goes on only if it is good", source: <<~'RUBY'
    class Result
      def initialize(value) = @value = value
      def and_then = @value ? Result.new(yield(@value)) : self
      def value! = @value
    end

    def show
      Result.new(Model.find_by(code: "x")).and_then { HTTP.get("/redeem-info") }.value!
    end
  RUBY

  case_of "steps until one fails", source: <<~'RUBY'
    class Checkout
      STEPS = %i[stock address quote].freeze

      def call
        STEPS.each do |step|
          break unless send(step)
        end
        @quote
      end

      private

      def stock = HTTP.get("/stock").start_with?("answer")
      def address = HTTP.get("/address").start_with?("answer")
      def quote = @quote = HTTP.get("/quote")
    end

    def show
      Checkout.new.call
    end
  RUBY

  case_of "a filter has rendered already", source: <<~'RUBY'
    def show
      require_owner
      return @page if performed?

      @page = HTTP.get("/edit")
    end

    def require_owner
      render("403") unless Model.find(1).owner_id == 1
    end

    def render(page)
      @page = page
    end

    def performed?
      !@page.nil?
    end
  RUBY

  case_of "a bang method of a repository", source: <<~'RUBY'
    class Missing < StandardError; end

    class Repository
      def self.find!(id)
        Model.find_by(id: id) || raise(Missing, id.to_s)
      end
    end

    def show
      Repository.find!(1)
      HTTP.get("/statistics")
    rescue Missing
      "404"
    end
  RUBY

  case_of "a cached page is returned first", source: <<~'RUBY'
    def show
      return @html if load_cached

      @html = HTTP.get("/render")
    end

    def load_cached
      @html = Redis.new.get("page")
    end
  RUBY

  case_of "retries in a wrapper", source: <<~'RUBY'
    def show
      with_retries { fetch }
    end

    def with_retries
      tries = 0
      begin
        yield
      rescue IOError
        retry if (tries += 1) < 3
      end
    end

    def fetch
      HTTP.get("/flaky")
      raise IOError
    end
  RUBY

  case_of "a circuit breaker", source: <<~'RUBY'
    class Breaker
      def run
        return if @open

        yield
      rescue IOError
        @open = true
        nil
      end
    end

    def show
      breaker = Breaker.new
      left = breaker.run { HTTP.get("/left") }
      right = breaker.run { HTTP.get("/right") }
      [left, right]
    end
  RUBY

  case_of "two numbers are drawn", source: <<~'RUBY'
    class Numbers
      def initialize = @redis = Redis.new
      def next = @redis.incr("invoice")
    end

    def show
      numbers = Numbers.new
      invoice = numbers.next
      copy = numbers.next
      "#{invoice}, #{copy}"
    end
  RUBY

  case_of "two rows are created in order", source: <<~'RUBY'
    def show
      Model.create!(kind: "header")
      Model.create!(kind: "line")
      "201"
    end
  RUBY

  case_of "a view is refreshed", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec("REFRESH MATERIALIZED VIEW totals")
      db.exec("SELECT * FROM totals").size
    end
  RUBY

  case_of "a procedure is called", source: <<~'RUBY'
    def show
      db = Connection.new
      db.query("CALL close_month('2026-11')")
      db.query("SELECT * FROM months").first
    end
  RUBY

  case_of "nextval and currval", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec("SELECT nextval('invoices')")
      db.exec("SELECT currval('invoices')")
    end
  RUBY

  case_of "SELECT INTO", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec("SELECT * INTO backup FROM rows WHERE old")
      [made, db.exec("SELECT count(*) FROM backup")]
    end
  RUBY

  case_of "DELETE RETURNING", source: <<~'RUBY'
    def show
      db = Connection.new
      taken = db.exec("DELETE FROM jobs WHERE id = 1 RETURNING id")
      left = db.exec("SELECT count(*) FROM jobs")
      [taken, left]
    end
  RUBY

  case_of "a timeout is set for the session", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec("SET statement_timeout = '2s'")
      db.exec("SELECT slow_report()")
    end
  RUBY

  case_of "EXPLAIN ANALYZE runs it", source: <<~'RUBY'
    def show
      db = Connection.new
      plan = db.exec("EXPLAIN ANALYZE DELETE FROM old_rows")
      left = db.exec("SELECT count(*) FROM old_rows")
      [plan, left]
    end
  RUBY

  case_of "the verb of the SQL is a value", source: <<~'RUBY'
    def show
      db = Connection.new
      action = "DELETE FROM"
      db.exec("#{action} carts WHERE id = 1")
      db.exec("SELECT count(*) FROM carts")
    end
  RUBY

  case_of "inserted into a dataset, then counted", source: <<~'RUBY'
    DB = Sequel.new

    def show
      DB[:orders].insert(sku: "boots")
      DB[:orders].count
    end
  RUBY

  case_of "reads in a transaction of a dataset", source: <<~'RUBY'
    DB = Sequel.new

    def show
      DB.transaction do
        newest = DB[:orders].max(:id)
        count = DB[:orders].count
        [newest, count]
      end
    end
  RUBY

  case_of "a helper opens the transaction", source: <<~'RUBY'
    def show
      snapshot { [Model.count, Model.maximum(:id)] }
    end

    def snapshot
      Model.transaction { yield }
    end
  RUBY

  case_of "a transaction around two helpers", source: <<~'RUBY'
    def show
      Model.transaction do
        left = debit
        right = credit
        left == right
      end
    end

    def debit = Model.sum(:debit)
    def credit = Model.sum(:credit)
  RUBY

  case_of "with_lock", source: <<~'RUBY'
    def show
      account = Model.new(1)
      account.with_lock do
        held = Model.sum(:held)
        paid = Model.sum(:paid)
        held - paid
      end
    end
  RUBY

  case_of "the command of redis-client is an argument", source: <<~'RUBY'
    def show
      redis = RedisClient.new
      made = redis.call("SADD", "online", "eve")
      [made, redis.call("SCARD", "online")]
    end
  RUBY

  case_of "redis-client's command is a constant", source: <<~'RUBY'
    MARK = ["HSET", "seen", "1"].freeze

    def show
      redis = RedisClient.new
      made = redis.call(*MARK)
      [made, redis.call("HGETALL", "seen")]
    end
  RUBY

  case_of "fetched into the cache, then read from it", source: <<~'RUBY'
    def show
      store = Cache.new
      store.fetch("rates") { { "eur" => 1 } }
      rates = store.read("rates")
      rates.size
    end
  RUBY

  case_of "a pipeline that writes its output", source: <<~'RUBY'
    def show
      sales = Mongo.new
      made = sales.aggregate([{ "$match" => { year: 2026 } }, { "$out" => "totals" }])
      [made, Mongo.new.find({}, from: "totals").first]
    end
  RUBY

  case_of "the request is built elsewhere", source: <<~'RUBY'
    def show
      http = NetHTTP.new
      http.request(order_request)
      http.request(list_request)
    end

    def order_request = NetHTTP::Post.new("/orders")
    def list_request = NetHTTP::Get.new("/orders")
  RUBY

  case_of "the verb is a variable", source: <<~'RUBY'
    def show
      call(:put, "/stock/1")
      call(:get, "/stock")
    end

    def call(verb, url)
      RestClient.execute(method: verb, url: url)
    end
  RUBY

  case_of "a session's cart is created on demand", source: <<~'RUBY'
    def show
      session = {}
      session[:cart] ||= Model.create.id
      lines = Model.where(cart_id: session[:cart])
      lines.size
    end
  RUBY

  case_of "a string under two names", source: <<~'RUBY'
    def show
      path = +"/files/"
      target = path
      target << HTTP.get("/folder").size.to_s
      HTTP.get(path)
    end
  RUBY

  case_of "a builder returns itself", source: <<~'RUBY'
    class Query
      attr_reader :ids

      def add(row)
        (@ids ||= []) << row.id
        self
      end
    end

    def show
      query = Query.new
      narrowed = query.add(Model.find(1))
      narrowed.ids.size
      HTTP.get("/query?ids=#{query.ids}")
    end
  RUBY

  case_of "a do-while by cursor", source: <<~'RUBY'
    def show
      cursor = nil
      begin
        cursor = HTTP.get("/keys?cursor=#{cursor}").size
      end while cursor < 24
      cursor
    end
  RUBY

  case_of "a lambda with a state of its own", source: <<~'RUBY'
    def pager
      after = "0"
      lambda do
        page = HTTP.get("/rows?after=#{after}")
        after = page.size.to_s
        page
      end
    end

    def show
      page = pager
      [page.call, page.call]
    end
  RUBY

  case_of "a local changed by a lambda, asked for by a helper", source: <<~'RUBY'
    def show
      context = { user: nil }
      load = -> { context[:user] = Model.find(1) }
      load.call
      badges(context)
    end

    def badges(context)
      HTTP.get("/badges/#{context[:user].id}")
    end
  RUBY

  case_of "refused by a class that others raise", source: <<~'RUBY'
    module Errors
      def self.unauthorized! = raise(SecurityError, "401")
    end

    def show
      Errors.unauthorized! if Model.find_by(token: "t").name.empty?
      HTTP.get("/vault")
    rescue SecurityError
      "401"
    end
  RUBY
end
