# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "the result is an argument of the next", source: <<~'RUBY'
    def show
      user = Model.find(1)
      orders = HTTP.get("/orders/#{user.id}")
      [user, orders]
    end
  RUBY

  case_of "an instance variable carries it from a before-step", source: <<~'RUBY'
    def show
      load_account
      load_invoices
      { account: @account.name, invoices: @invoices.size }
    end

    def load_account
      @account = Model.find(1)
    end

    def load_invoices
      @invoices = Model.where(account_id: @account.id)
    end
  RUBY

  case_of "before-steps are called by name", source: <<~'RUBY'
    BEFORE = %i[authenticate set_project].freeze

    def show
      BEFORE.each { |step| send(step) }
      @project.name
    end

    def authenticate
      @user = Model.find_by(token: "t")
    end

    def set_project
      @project = Model.find_by(owner_id: @user.id)
    end
  RUBY

  case_of "the second calls the memoized first", source: <<~'RUBY'
    def show
      name = current_user.name
      list = recent_orders
      "#{name}: #{list}"
    end

    def current_user
      @current_user ||= Model.find(1)
    end

    def recent_orders
      HTTP.get("/orders?user=#{current_user.id}", 0.2)
    end
  RUBY

  case_of "a guard on the first's result returns early", source: <<~'RUBY'
    def show
      user = Model.find_by(email: "a@b.test")
      return "404" unless user

      news = HTTP.get("/news")
      "<h1>#{user.name}</h1>#{news}"
    end
  RUBY

  case_of "an authorization check raises", source: <<~'RUBY'
    class Forbidden < StandardError; end

    def show
      document = Model.find(7)
      authorize!(document)
      content = HTTP.get("/documents/7/content")
      [document.name, content]
    rescue Forbidden
      "403"
    end

    def authorize!(document)
      raise Forbidden unless document.owner_id == document.id
    end
  RUBY

  case_of "halt throws in Sinatra's way", source: <<~'RUBY'
    def show
      catch(:halt) do
        key = Model.find_by(api_key: "k")
        halt 401 unless key
        HTTP.get("/reports")
      end
    end

    def halt(status)
      throw :halt, status
    end
  RUBY

  case_of "a helper does the check that halts", source: <<~'RUBY'
    def show
      catch(:halt) { protected_page }
    end

    def protected_page
      require_login
      report = HTTP.get("/report", 0.3)
      "report: #{report}"
    end

    def require_login
      session = Model.find_by(sid: "abc")
      throw :halt, 302 if session.name.empty?
    end
  RUBY

  case_of "rendered twice: and return", source: <<~'RUBY'
    def show
      order = Model.find(3)
      redirect("/login") and return if order.owner_id != 1 && order.owner_id != 3
      lines = Model.where(kind: "line")
      render(lines)
    end

    def redirect(path)
      @location = path
    end

    def render(lines)
      lines.size
    end
  RUBY

  case_of "or raise", source: <<~'RUBY'
    def show
      plan = Model.find_by(slug: "pro") or raise ArgumentError, "no plan"
      quote = HTTP.get("/quote")
      [plan, quote]
    end
  RUBY

  case_of "a fallback is only asked after the first failed", source: <<~'RUBY'
    def show
      rate = begin
        rate_of("/primary")
      rescue IOError
        HTTP.get("/secondary")
      end
      "rate #{rate}"
    end

    def rate_of(path)
      answer = HTTP.get(path)
      raise IOError, "stale" if answer.include?("primary")

      answer
    end
  RUBY

  case_of "a cache miss asks the database", source: <<~'RUBY'
    CACHE = Cache.new

    def show
      posts = CACHE.read("posts") || Model.where(published: true)
      posts.size
    end
  RUBY

  case_of "a cache is filled and read again", source: <<~'RUBY'
    class Settings
      def initialize(cache)
        @cache = cache
      end

      def load
        @cache.write("settings", { "zone" => "UTC" })
        @cache.read("settings")
      end
    end

    def show
      Settings.new(Cache.new).load
    end
  RUBY

  case_of "the cache's block", source: <<~'RUBY'
    def show
      store = Cache.new
      store.fetch("dashboard", expires_in: 60) do
        HTTP.get("/dashboard", 0.2)
      end
    end
  RUBY

  case_of "a client that logs in keeps its token", source: <<~'RUBY'
    class Crm
      def initialize(http)
        @http = http
      end

      def login
        @token = @http.post("/login").body["token"]
      end

      def contacts
        @http.get("/contacts", headers: { "Authorization" => "Bearer #{@token}" }).body
      end
    end

    def show
      crm = Crm.new(Faraday.new)
      crm.login
      crm.contacts
    end
  RUBY

  case_of "the session is the library's own", source: <<~'RUBY'
    def show
      api = Faraday.new("https://erp.test")
      api.post("/session", { user: "shop" })
      stock = api.get("/stock").body
      stock.size
    end
  RUBY

  case_of "headers of the connection are changed", source: <<~'RUBY'
    def show
      connection = Faraday.new
      answer = connection.get("/csrf")
      connection.headers["X-CSRF"] = answer.body["token"]
      connection.get("/form")
    end
  RUBY

  case_of "a cart loads itself", source: <<~'RUBY'
    class Cart
      attr_reader :items

      def load
        @items = Model.where(cart_id: 1)
        self
      end

      def total
        HTTP.get("/price?ids=#{items.map(&:id).join(",")}")
      end
    end

    def show
      cart = Cart.new
      cart.load
      cart.total
    end
  RUBY

  case_of "a method fills the object it is given", source: <<~'RUBY'
    Page = Struct.new(:author, :bio)

    def show
      page = Page.new
      add_author(page)
      add_bio(page)
      page.to_a
    end

    def add_author(page)
      page.author = Model.find(4)
    end

    def add_bio(page)
      page.bio = HTTP.get("/bio/#{page.author.id}")
    end
  RUBY

  case_of "params are filled in", source: <<~'RUBY'
    def show
      params = { q: "boots" }
      params[:shop_id] = Model.find_by(host: "a.test").id
      search(params)
    end

    def search(params)
      HTTP.get("/search?#{params.map { |pair| pair.join("=") }.join("&")}")
    end
  RUBY

  case_of "the same hash under two names", source: <<~'RUBY'
    def show
      headers = { "Accept" => "json" }
      options = { headers: headers }
      sign(headers)
      HTTP.get("/secret", 0.1, **options)
    end

    def sign(headers)
      headers.store("Authorization", HTTP.post("/sign"))
    end
  RUBY

  case_of "ids are collected, then asked for", source: <<~'RUBY'
    def show
      ids = [1, 2]
      ids << Model.find_by(pinned: true).id
      posts = Model.where(id: ids)
      posts.size
    end
  RUBY

  case_of "a URL is built in pieces", source: <<~'RUBY'
    def show
      url = +"/v1/users/"
      url << Model.find(1).id.to_s
      url << "/events"
      HTTP.get(url)
    end
  RUBY

  case_of "multiple assignment", source: <<~'RUBY'
    def show
      account, zone = account_and_zone
      HTTP.get("/calendar?zone=#{zone}&account=#{account.id}")
    end

    def account_and_zone
      account = Model.find(1)
      [account, account.name]
    end
  RUBY

  case_of "nested calls", source: <<~'RUBY'
    def show
      HTTP.get("/avatar/#{HTTP.get("/me").size}")
    end
  RUBY

  case_of "then hands it on", source: <<~'RUBY'
    def show
      Model.find(1)
           .then { |user| HTTP.get("/score/#{user.id}", 0.2) }
           .then { |score| "score: #{score}" }
    end
  RUBY

  case_of "tap looks at it", source: <<~'RUBY'
    def show
      order = Model.find(1).tap do |found|
        @owner = found.owner
      end
      [order.name, @owner.name]
    end
  RUBY

  case_of "a chain of associations", source: <<~'RUBY'
    def show
      comment = Model.find(9)
      author = comment&.owner
      author&.owner&.name
    end
  RUBY

  case_of "a case decides on the first's result", source: <<~'RUBY'
    def show
      state = Faraday.new.get("/payments/1").status
      case state
      when 200 then HTTP.get("/receipt/1")
      when 404 then "none"
      else "pending"
      end
    end
  RUBY

  case_of "a pattern binds what the next asks for", source: <<~'RUBY'
    def show
      case Faraday.new.get("/whoami").body.transform_keys(&:to_sym)
      in { id: Integer => id }
        Model.where(user_id: id).size
      in { error: message }
        message
      end
    end
  RUBY

  case_of "a rightward pattern", source: <<~'RUBY'
    def show
      Faraday.new.get("/token").body.transform_keys(&:to_sym) => { token: }
      report = HTTP.get("/report?token=#{token}")
      report.upcase
    end
  RUBY

  case_of "a ternary", source: <<~'RUBY'
    def show
      premium = Model.find(1).name == "name"
      offers = premium ? HTTP.get("/offers/premium") : []
      offers.size
    end
  RUBY

  case_of "if stale", source: <<~'RUBY'
    def show
      article = Model.find(5)
      if stale?(article)
        comments = Model.where(kind: "comment")
        render(article, comments)
      else
        "304"
      end
    end

    def stale?(record)
      record.name != "etag"
    end

    def render(article, comments)
      [article.name, comments.size]
    end
  RUBY

  case_of "a flag that a helper derived", source: <<~'RUBY'
    def show
      check_feature
      return "old" unless @enabled

      HTTP.get("/new-search")
    end

    def check_feature
      flag = Redis.new.hgetall("features")
      @enabled = flag["plan"] == "pro"
    end
  RUBY

  case_of "validation errors stop the rest", source: <<~'RUBY'
    class Signup
      attr_reader :errors

      def initialize
        @errors = []
      end

      def call
        validate_name
        return errors if errors.any?

        HTTP.get("/geoip", 0.3)
      end

      private

      def validate_name
        errors << "taken" if Model.exists?(name: "bob").nil?
      end
    end

    def show
      Signup.new.call
    end
  RUBY

  case_of "an order is written, then counted", source: <<~'RUBY'
    def show
      Model.create!(sku: "boots")
      open_orders = Model.count
      "you have #{open_orders} open orders"
    end
  RUBY

  case_of "charge, then ship", source: <<~'RUBY'
    def show
      charge = HTTP.post("/charges", 0.4)
      parcel = HTTP.post("/parcels", 0.2)
      { charge: charge, parcel: parcel }
    end
  RUBY

  case_of "intent is recorded before the call", source: <<~'RUBY'
    def show
      payment = Model.create!(state: "pending")
      answer = HTTP.post("/charge")
      payment.update!(state: "done")
      answer
    end
  RUBY

  case_of "delete, then list", source: <<~'RUBY'
    def show
      HTTP.delete("/items/1")
      items = HTTP.get("/items")
      render items
    end

    def render(items)
      "<ul>#{items}</ul>"
    end
  RUBY

  case_of "a helper that reads by its name writes", source: <<~'RUBY'
    class Visits
      def self.today
        Model.find_or_create_by(day: "2026-11-28").increment!(:count)
      end

      def self.ranking
        Model.where("count > 0")
      end
    end

    def show
      visits = Visits.today
      ranking = Visits.ranking
      [visits.name, ranking.size]
    end
  RUBY

  case_of "a transaction's connection has a begin and an end", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
      total = db.exec("SELECT sum(amount) FROM entries")
      db.exec("COMMIT")
      total
    end
  RUBY

  case_of "reads in one transaction", source: <<~'RUBY'
    def show
      Model.transaction do
        debit = Model.sum(:debit)
        credit = Model.sum(:credit)
        raise "unbalanced" unless debit == credit

        [debit, credit]
      end
    end
  RUBY

  case_of "a row is locked, then another read", source: <<~'RUBY'
    def show
      Model.transaction do
        account = Model.new(1).lock!
        pending = Model.where(state: "pending")
        account.update!(balance: pending.size)
      end
    end
  RUBY

  case_of "SELECT FOR UPDATE in a heredoc", source: <<~'RUBY'
    def show
      db = Connection.new
      db.exec(<<~SQL)
        SELECT id FROM seats WHERE id = 7 FOR UPDATE
      SQL
      free = db.exec(<<~SQL)
        SELECT count(*) FROM seats WHERE taken_at IS NULL
      SQL
      free.first
    end
  RUBY

  case_of "a temporary table", source: <<~'RUBY'
    def show
      db = Connection.new
      db.query(<<~SQL)
        CREATE TEMP TABLE recent AS SELECT * FROM events WHERE at > now() - interval '1 day'
      SQL
      db.query("SELECT kind, count(*) FROM recent GROUP BY kind")
    end
  RUBY

  case_of "the tenant is set on the connection", source: <<~'RUBY'
    DB = Connection.new

    def show
      switch_tenant("acme")
      DB.exec_params("SELECT * FROM invoices WHERE id = $1", [1])
    end

    def switch_tenant(name)
      DB.exec("SET search_path TO #{name}")
    end
  RUBY

  case_of "heredoc with the first's id", source: <<~'RUBY'
    def show
      db = Connection.new
      team = db.exec("SELECT id FROM teams LIMIT 1").first
      rows = db.exec(<<~SQL)
        SELECT *
        FROM members
        WHERE team_id = #{team["id"]}
      SQL
      rows.size
    end
  RUBY

  case_of "an advisory lock around", source: <<~'RUBY'
    def show
      with_lock("nightly") { HTTP.get("/export") }
    end

    def with_lock(name)
      redis = Redis.new
      redis.set("lock:#{name}", 1, nx: true)
      yield
    ensure
      redis.del("lock:#{name}")
    end
  RUBY

  case_of "ensure cleans up what was made", source: <<~'RUBY'
    def show
      upload = HTTP.get("/uploads/1", 0.2)
      upload.size
    ensure
      HTTP.delete("/uploads/1")
    end
  RUBY
end
