# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "two locals, one list", source: <<~'RUBY'
    def show
      list = ["a"]
      copy = list
      copy << HTTP.get("/b")
      HTTP.get("/all?ids=#{list.join(",")}")
    end
  RUBY

  case_of "an instance variable and a local, one list", source: <<~'RUBY'
    def show
      ids = []
      @ids = ids
      ids.concat(Model.pluck(:id))
      search
    end

    def search
      HTTP.get("/search?ids=#{@ids.size}")
    end
  RUBY

  case_of "a list got from an object", source: <<~'RUBY'
    Page = Struct.new(:ids)

    def show
      page = Page.new([])
      page.ids << Model.find(1).id
      HTTP.get("/page?ids=#{page.ids}")
    end
  RUBY

  case_of "a row in a list is changed", source: <<~'RUBY'
    def show
      row = Model.new(1)
      rows = [row, Model.new(2)]
      row.name = HTTP.get("/name/1")
      HTTP.get("/labels?names=#{rows.map(&:name)}")
    end
  RUBY

  case_of "an object inside an object", source: <<~'RUBY'
    Order = Struct.new(:customer)
    Customer = Struct.new(:tier)

    def show
      order = Order.new(Customer.new)
      order.customer.tier = HTTP.get("/tier")
      price(order)
    end

    def price(order)
      HTTP.get("/price?tier=#{order.customer.tier}")
    end
  RUBY

  case_of "loaded by tap and a symbol", source: <<~'RUBY'
    class Catalog
      def load = @rows = Model.where(kind: "product")
      def prices = HTTP.get("/prices?count=#{@rows.size}")
    end

    def show
      catalog = Catalog.new.tap(&:load)
      catalog.prices
    end
  RUBY

  case_of "together, both would log in", source: <<~'RUBY'
    class Crm
      def people = get("/people")
      def deals = get("/deals")

      private

      def get(path) = HTTP.get(path, 0.1, token: token)
      def token = @token ||= HTTP.post("/login")
    end

    def show
      crm = Crm.new
      people = crm.people
      deals = crm.deals
      [people, deals]
    end
  RUBY

  case_of "a lock is taken by SELECT", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec("SELECT pg_advisory_lock(42)")
      [made, db.exec("SELECT max(number) FROM invoices")]
    end
  RUBY

  case_of "a function called by SELECT changes the session", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec_params("SELECT set_config('app.tenant', $1, false)", ["acme"])
      db.exec("SELECT count(*) FROM invoices").first
    end
  RUBY

  case_of "WITH deletes", source: <<~'RUBY'
    def show
      db = Connection.new
      moved = db.exec(<<~SQL)
        WITH gone AS (DELETE FROM inbox WHERE seen RETURNING id)
        SELECT count(*) FROM gone
      SQL
      left = db.exec("SELECT count(*) FROM inbox")
      [moved, left]
    end
  RUBY

  case_of "a comment before the UPDATE", source: <<~'RUBY'
    def show
      db = Connection.new
      db.query(<<~SQL)
        /* app:shop */
        UPDATE counters SET n = n + 1
      SQL
      db.query("SELECT n FROM counters")
    end
  RUBY

  case_of "SQL in constants", source: <<~'RUBY'
    TOUCH = "insert into visits (at) values (now())"
    LAST = "select max(at) from visits"

    def show
      db = Connection.new
      db.exec(TOUCH)
      db.exec(LAST)
    end
  RUBY

  case_of "SQL goes through a helper", source: <<~'RUBY'
    DB = Connection.new

    def show
      sql("delete from baskets where id = 1")
      sql("select count(*) from baskets")
    end

    def sql(text)
      DB.exec(text).first
    end
  RUBY

  case_of "SQL in a hash", source: <<~'RUBY'
    QUERIES = { mark: "UPDATE mails SET seen = true", list: "SELECT * FROM mails" }.freeze

    def show
      db = Connection.new
      db.exec(QUERIES[:mark])
      db.exec(QUERIES.fetch(:list)).size
    end
  RUBY

  case_of "prepared statements say nothing", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec_prepared("mark_seen", [1])
      db.exec_prepared("unseen_count", [1])
    end
  RUBY

  case_of "a cursor in the database", source: <<~'RUBY'
    def show
      db = Connection.new
      first = db.exec("FETCH 100 FROM report")
      second = db.exec("FETCH 100 FROM report")
      first + second
    end
  RUBY

  case_of "the verb is a symbol", source: <<~'RUBY'
    class Api
      def call(verb, path) = HTTP.public_send(verb, path)
    end

    def show
      api = Api.new
      api.call(:post, "/orders")
      api.call(:get, "/orders")
    end
  RUBY

  case_of "the request object is a POST", source: <<~'RUBY'
    def show
      http = NetHTTP.new
      order = NetHTTP::Post.new("/orders")
      made = http.request(order)
      [made, http.request(NetHTTP::Get.new("/orders"))]
    end
  RUBY

  case_of "the verb is an option", source: <<~'RUBY'
    def show
      RestClient.execute(method: :delete, url: "/orders/1")
      RestClient.execute(method: :get, url: "/orders")
    end
  RUBY

  case_of "put, then list", source: <<~'RUBY'
    def show
      store = S3.new
      store.put_object(bucket: "b", key: "k", body: "x")
      store.list_objects_v2(bucket: "b")
    end
  RUBY

  case_of "indexed, then searched", source: <<~'RUBY'
    def show
      engine = Search.new
      engine.index(index: "posts", body: { title: "x" })
      hits = engine.search(index: "posts", q: "x")
      hits["hits"].size
    end
  RUBY

  case_of "find and update, then count", source: <<~'RUBY'
    def show
      jobs = Mongo.new
      job = jobs.find_one_and_update({ state: "new" }, { state: "taken" })
      left = jobs.count_documents({ state: "new" })
      [job, left]
    end
  RUBY

  case_of "upsert, then the maximum", source: <<~'RUBY'
    def show
      Model.upsert({ player: 1, score: 90 })
      best = Model.maximum(:score)
      "best: #{best}"
    end
  RUBY

  case_of "a database of Redis is chosen", source: <<~'RUBY'
    def show
      redis = Redis.new
      made = redis.select(3)
      [made, redis.hgetall("profile")]
    end
  RUBY

  case_of "a key is watched before it is read", source: <<~'RUBY'
    def show
      redis = Redis.new
      redis.watch("stock")
      stock = redis.get("stock")
      stock.to_i
    end
  RUBY

  case_of "a script, then its key", source: <<~'RUBY'
    def show
      redis = Redis.new
      redis.eval("return redis.call('incr', 'n')")
      redis.get("n")
    end
  RUBY

  case_of "members are added, then listed", source: <<~'RUBY'
    class Board
      def initialize = @redis = Redis.new

      def post(name, score)
        @redis.zadd("board", score, name)
        top
      end

      def top = @redis.zrange("board", 0, 9)
    end

    def show
      Board.new.post("eve", 7)
    end
  RUBY

  case_of "a mutex, then the work", source: <<~'RUBY'
    def show
      gate = Waiting.new
      gate.synchronize { HTTP.get("/single") }
    end
  RUBY

  case_of "a worker is waited for", source: <<~'RUBY'
    def show
      importer = Waiting.new
      importer.join
      "#{Model.count} rows"
    end
  RUBY

  case_of "a signal comes first", source: <<~'RUBY'
    def show
      ready = Waiting.new
      ready.pop
      HTTP.get("/result")
    end
  RUBY

  case_of "a program makes what is read", source: <<~'RUBY'
    def show
      made = Waiting.new.system("bin/import --all")
      [made, Model.where(state: "imported").size]
    end
  RUBY

  case_of "the client is told in order", source: <<~'RUBY'
    def show
      stream = Waiting.new
      stream.write("data: started\n\n")
      answer = HTTP.get("/work")
      stream.write("data: #{answer}\n\n")
    end
  RUBY

  case_of "events to the client in order", source: <<~'RUBY'
    def show
      stream = Waiting.new
      stream.write("event: one\n\n")
      stream.write("event: two\n\n")
      nil
    end
  RUBY

  case_of "a turn at the pool comes first", source: <<~'RUBY'
    POOL = Pool.new { Connection.new }

    def show
      POOL.with { |db| db.exec("SELECT 1") }.first
    end
  RUBY

  case_of "the locale of the block is the fiber's own", source: <<~'RUBY'
    module I18n
      def self.locale = Thread.current[:locale] || "en"

      def self.with_locale(name)
        Thread.current[:locale] = name
        yield
      ensure
        Thread.current[:locale] = nil
      end
    end

    def show
      I18n.with_locale("de") do
        terms = HTTP.get("/terms/#{I18n.locale}")
        menu = HTTP.get("/menu/#{I18n.locale}")
        [terms, menu]
      end
    end
  RUBY

  case_of "a setter with checks", source: <<~'RUBY'
    class Account
      def plan=(name)
        raise ArgumentError, name if name.empty?

        @plan = name
      end

      def limits = HTTP.get("/limits")
    end

    def show
      account = Account.new
      account.plan = HTTP.get("/plan")
      account.limits
    end
  RUBY

  case_of "a default keyword", source: <<~'RUBY'
    class Export
      def initialize = @rows = nil
      def load = @rows = Model.where(kind: "row")
      def send_to(host, count: @rows.size) = HTTP.get("/#{host}?count=#{count}")
    end

    def show
      export = Export.new
      export.load
      export.send_to("archive")
    end
  RUBY

  case_of "to_s asks the memo", source: <<~'RUBY'
    class Title
      def fetch = @text = HTTP.get("/title")
      def to_s = @text.to_s
    end

    def show
      title = Title.new
      title.fetch
      HTTP.get("/slug?of=#{title}")
    end
  RUBY

  case_of "implicit conversions", source: <<~'RUBY'
    class Ids
      def load = @ids = Model.pluck(:id).map(&:id)
      def to_a = @ids
    end

    def show
      ids = Ids.new
      ids.load
      Model.find(*ids)
    end
  RUBY

  case_of "an index operator of one's own", source: <<~'RUBY'
    class Registry
      def initialize = @known = {}
      def []=(name, value)
        @known[name] = value
      end
      def [](name) = @known[name]
    end

    def show
      registry = Registry.new
      registry[:host] = HTTP.get("/host")
      HTTP.get("/status?host=#{registry[:host]}")
    end
  RUBY

  case_of "an object that can be called", source: <<~'RUBY'
    class Signer
      def refresh = @key = HTTP.get("/key")
      def call(path) = "#{path}?signature=#{@key.hash}"
    end

    def show
      sign = Signer.new
      sign.refresh
      HTTP.get(sign.("/secret"))
    end
  RUBY

  case_of "an equality of one's own", source: <<~'RUBY'
    class Etag
      def load = @value = HTTP.get("/etag")
      def ==(other) = @value == other
    end

    def show
      etag = Etag.new
      etag.load
      return "304" if etag == "abc"

      HTTP.get("/document")
    end
  RUBY

  case_of "Object#extend gives the state", source: <<~'RUBY'
    module Sessioned
      def open = @sid = HTTP.post("/open")
      def read = HTTP.get("/read?sid=#{@sid}")
    end

    def show
      client = Object.new.extend(Sessioned)
      client.open
      client.read
    end
  RUBY

  case_of "state of a module", source: <<~'RUBY'
    module Flags
      class << self
        def refresh = @all = HTTP.get("/flags")
        def on?(name) = @all.to_s.include?(name)
      end
    end

    def show
      Flags.refresh
      Flags.on?("answer") ? Model.where(kind: "new").size : 0
    end
  RUBY

  case_of "one assignment feeds the next", source: <<~'RUBY'
    def show
      id, rows = Model.find(1).id, nil
      rows = Model.where(parent: id)
      @id, (@first, *@others) = id, rows
      HTTP.get("/tree/#{@first.id}/#{@others.size}")
    end
  RUBY

  case_of "arguments in their order", source: <<~'RUBY'
    def show
      merge(start = HTTP.get("/start"), HTTP.get("/next?after=#{start}"))
    end

    def merge(left, right)
      [left, right]
    end
  RUBY

  case_of "a hash's later value uses the former", source: <<~'RUBY'
    def show
      {
        user: (user = Model.find(1)),
        posts: Model.where(user_id: user.id)
      }
    end
  RUBY

  case_of "an interpolation that assigns", source: <<~'RUBY'
    def show
      "#{@city = HTTP.get("/city")}: #{HTTP.get("/weather?city=#{@city}")}"
    end
  RUBY

  case_of "a block pass with state", source: <<~'RUBY'
    def show
      total = 0
      add = proc { |row| total += row.id }
      Model.where(kind: "a").each(&add)
      HTTP.get("/tax?on=#{total}")
    end
  RUBY

  case_of "the exception carries it", source: <<~'RUBY'
    class Moved < StandardError
      attr_reader :to

      def initialize(to)
        @to = to
        super("moved")
      end
    end

    def show
      load_page("/old")
    rescue Moved => e
      HTTP.get("/new?from=#{e.to.size}")
    end

    def load_page(path)
      raise Moved, HTTP.get(path)
    end
  RUBY

  case_of "the thrown value", source: <<~'RUBY'
    def show
      target = catch(:redirect) do
        locate
        "/home"
      end
      HTTP.get(target)
    end

    def locate
      throw :redirect, HTTP.get("/locate")
    end
  RUBY

  case_of "a cart sums what another method filled", source: <<~'RUBY'
    class Cart
      def initialize = @lines = []
      def add(line) = @lines.push(line)
      def each(&) = @lines.each(&)
      include Enumerable
    end

    def show
      cart = Cart.new
      cart.add(Model.find(1))
      HTTP.get("/quote?ids=#{cart.map(&:id)}")
    end
  RUBY

  case_of "a comparison keeps what it compared", source: <<~'RUBY'
    class Watermark
      attr_reader :at

      def newer?
        @at = Model.maximum(:id)
        @at > 3
      end
    end

    def show
      mark = Watermark.new
      puts_nothing if mark.newer?
      HTTP.get("/since/#{mark.at}")
    end

    def puts_nothing; end
  RUBY

  case_of "one call of a gem waits several times", source: <<~'RUBY'
    def show
      page = Web.get("/page", pieces: 3)
      page.size
    end
  RUBY

  case_of "one call of a gem inside of a helper's block", source: <<~'RUBY'
    def show
      timed { Web.get("/page", pieces: 3) }
    end

    def timed
      yield
    end
  RUBY
end
