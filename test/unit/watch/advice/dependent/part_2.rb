# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "retry", source: <<~'RUBY'
    def show
      attempts = 0
      begin
        attempts += 1
        answer = HTTP.get("/flaky")
        raise IOError if attempts < 3

        answer
      rescue IOError
        retry if attempts < 4
        raise
      end
    end
  RUBY

  case_of "a job is started and asked for", source: <<~'RUBY'
    def show
      HTTP.post("/jobs")
      4.times do
        Shell.sleep(0.2)
        state = HTTP.get("/jobs/1")
        return state if state == "done"
      end
      "pending"
    end
  RUBY

  case_of "a pause for a rate limit", source: <<~'RUBY'
    def show
      first = HTTP.get("/geocode?q=a")
      Shell.sleep(1.0)
      second = HTTP.get("/geocode?q=b")
      [first, second]
    end
  RUBY

  case_of "a rate limiter raises before the work", source: <<~'RUBY'
    class Limiter
      def initialize(redis) = @redis = redis

      def check!(key)
        raise "429" if @redis.incr(key) > 10
      end
    end

    def show
      Limiter.new(Redis.new).check!("ip:1")
      HTTP.get("/expensive", 0.5)
    end
  RUBY

  case_of "first wins", source: <<~'RUBY'
    def show
      host = %w[a b c].find { |name| HTTP.get("/health/#{name}").end_with?("b") }
      "use #{host}"
    end
  RUBY

  case_of "the first that is present", source: <<~'RUBY'
    def show
      find_by_cookie || find_by_header || "guest"
    end

    def find_by_cookie
      Model.find_by(cookie: "x")
      nil
    end

    def find_by_header
      Model.find_by(header: "y")
    end
  RUBY

  case_of "both must hold", source: <<~'RUBY'
    def show
      allowed? && within_quota? ? "yes" : "no"
    end

    def allowed?
      HTTP.get("/policy").include?("answer")
    end

    def within_quota?
      HTTP.get("/quota").include?("answer")
    end
  RUBY

  case_of "pages by cursor", source: <<~'RUBY'
    def show
      rows = []
      cursor = "0"
      while cursor
        page = HTTP.get("/rows?cursor=#{cursor}")
        rows << page
        cursor = rows.size < 3 ? page.size.to_s : nil
      end
      rows
    end
  RUBY

  case_of "a balance is carried from call to call", source: <<~'RUBY'
    def show
      [1, 2, 3].inject(100) do |balance, entry|
        HTTP.get("/apply?balance=#{balance}&entry=#{entry}").size
      end
    end
  RUBY

  case_of "Current is set from the session", source: <<~'RUBY'
    class Current
      class << self
        attr_accessor :user
      end
    end

    class Policy
      def self.scope
        Model.where(owner_id: Current.user.id)
      end
    end

    def show
      Current.user = Model.find(1)
      Policy.scope.size
    end
  RUBY

  case_of "the tenant is in Thread.current", source: <<~'RUBY'
    def show
      Thread.current[:tenant] = Model.find_by(host: "acme.test")
      billing
    ensure
      Thread.current[:tenant] = nil
    end

    def billing
      HTTP.get("/billing/#{Thread.current[:tenant].id}")
    end
  RUBY

  case_of "a global variable", source: <<~'RUBY'
    def show
      fetch_config
      fetch_catalog
    end

    def fetch_config
      $region = HTTP.get("/config")
    end

    def fetch_catalog
      HTTP.get("/catalog/#{$region}")
    end
  RUBY

  case_of "a class keeps the token", source: <<~'RUBY'
    class Api
      @token = nil

      class << self
        attr_writer :token

        def get(path)
          HTTP.get(path, 0.2, headers: { token: @token })
        end
      end
    end

    def show
      Api.token = HTTP.post("/oauth/token")
      Api.get("/me")
    end
  RUBY

  case_of "the time zone of the user", source: <<~'RUBY'
    module Zone
      def self.use(name)
        before = @name
        @name = name
        yield
      ensure
        @name = before
      end

      def self.today = "2026-11-28 #{@name}"
    end

    def show
      user = Model.find(1)
      Zone.use(user.name) { HTTP.get("/agenda?day=#{Zone.today}") }
    end
  RUBY

  case_of "an around step yields what it found", source: <<~'RUBY'
    def show
      with_token { |token| HTTP.get("/feed", 0.1, token: token) }
    end

    def with_token
      token = Redis.new.get("token") || "none"
      yield token
    end
  RUBY

  case_of "a lambda closes over what is set later", source: <<~'RUBY'
    def show
      shop = nil
      products = -> { HTTP.get("/shops/#{shop.id}/products") }
      shop = Model.find(2)
      products.call
    end
  RUBY

  case_of "a method object", source: <<~'RUBY'
    def show
      @region = HTTP.get("/region")
      lookup = method(:price)
      lookup.call("boots")
    end

    def price(sku)
      HTTP.get("/prices/#{@region}/#{sku}")
    end
  RUBY

  case_of "prepended authentication", source: <<~'RUBY'
    module Authenticated
      def contacts
        @session ||= HTTP.post("/login")
        super
      end
    end

    class Directory
      prepend Authenticated

      def contacts
        HTTP.get("/contacts", 0.2, session: @session)
      end
    end

    def show
      Directory.new.contacts
    end
  RUBY

  case_of "super loads what is built on", source: <<~'RUBY'
    class Step
      def call
        @account = Model.find(1)
      end
    end

    class Statement < Step
      def call
        super
        HTTP.get("/statements/#{@account.id}")
      end
    end

    def show
      Statement.new.call
    end
  RUBY

  case_of "a pipeline of steps over a context", source: <<~'RUBY'
    STEPS = [
      ->(context) { context.merge(user: Model.find(1)) },
      ->(context) { context.merge(cart: context[:user].items) },
      ->(context) { context.merge(total: HTTP.get("/total/#{context[:cart].size}")) }
    ].freeze

    def show
      STEPS.reduce({}) { |context, step| step.call(context) }
    end
  RUBY

  case_of "a default argument", source: <<~'RUBY'
    def show
      @user = Model.find(1)
      orders
    end

    def orders(owner = @user)
      Model.where(owner_id: owner.id)
    end
  RUBY

  case_of "keyword shorthand", source: <<~'RUBY'
    def show
      user = Model.find(1)
      wishlist(user:)
    end

    def wishlist(user:)
      HTTP.get(format("/users/%d/wishlist", user.id))
    end
  RUBY

  case_of "a decorator asks through the decorated", source: <<~'RUBY'
    class UserPage
      def initialize(user) = @user = user

      def posts
        @posts ||= @user.items
      end
    end

    def show
      page = UserPage.new(Model.find(1))
      page.posts.size
    end
  RUBY

  case_of "a hash with a default block", source: <<~'RUBY'
    def show
      found = Hash.new { |known, key| known[key] = HTTP.get("/#{key}?root=#{known[:root]}") }
      found[:root] = HTTP.get("/root")
      found[:leaf]
    end
  RUBY

  case_of "the write goes through public_send", source: <<~'RUBY'
    class Draft
      attr_accessor :title
    end

    def show
      draft = Draft.new
      { title: "/title" }.each do |name, path|
        draft.public_send("#{name}=", HTTP.get(path))
      end
      HTTP.get("/slug?title=#{draft.title}")
    end
  RUBY

  case_of "instance_variable_set", source: <<~'RUBY'
    def show
      assign(:team, Model.find(3))
      HTTP.get("/roster/#{@team.id}")
    end

    def assign(name, value)
      instance_variable_set("@#{name}", value)
    end
  RUBY

  case_of "a counter decides", source: <<~'RUBY'
    def show
      @misses = 0
      lookup("a")
      return "gone" if @misses > 1

      HTTP.get("/details")
    end

    def lookup(key)
      @misses += 1 unless Redis.new.get(key)
    end
  RUBY

  case_of "a rescue leaves a flag", source: <<~'RUBY'
    def show
      degraded = false
      begin
        live = HTTP.get("/live")
        raise IOError, live
      rescue IOError
        degraded = true
      end
      degraded ? HTTP.get("/snapshot") : live
    end
  RUBY

  case_of "a block's own variable is counted up", source: <<~'RUBY'
    def show
      total = 0
      Model.where(state: "open").each { |order| total += order.id }
      HTTP.get("/discount?total=#{total}")
    end
  RUBY

  case_of "the event is announced after the save", source: <<~'RUBY'
    class Publisher
      def initialize(redis) = @redis = redis
      def publish(name) = @redis.rpush("events", name)
    end

    def show
      Model.new(1).save
      Publisher.new(Redis.new).publish("order.saved")
      "202"
    end
  RUBY

  case_of "reads, then audits", source: <<~'RUBY'
    def show
      record = Model.find(12)
      HTTP.post("/audit?viewed=12")
      record.name
    end
  RUBY

  case_of "the old value is read before it is replaced", source: <<~'RUBY'
    def show
      redis = Redis.new
      before = redis.get("theme")
      redis.set("theme", "dark")
      "was #{before.inspect}"
    end
  RUBY

  case_of "reload sees what another call changed", source: <<~'RUBY'
    def show
      order = Model.new(1)
      HTTP.post("/orders/1/refresh", 0.3)
      order.reload
      order.name
    end
  RUBY

  case_of "an operator between objects", source: <<~'RUBY'
    class Basket
      attr_reader :ids

      def initialize = @ids = []

      def <<(row)
        @ids += [row.id]
        self
      end
    end

    def show
      basket = Basket.new
      basket << Model.find(1)
      HTTP.get("/shipping?items=#{basket.ids}")
    end
  RUBY

  case_of "forwarded state", source: <<~'RUBY'
    require "forwardable"

    class Checkout
      extend Forwardable
      def_delegators :@store, :address=, :address

      def initialize = @store = Struct.new(:address).new

      def locate = self.address = Model.find(2)
      def rates = HTTP.get("/rates/#{address.id}")
    end

    def show
      checkout = Checkout.new
      checkout.locate
      checkout.rates
    end
  RUBY

  case_of "a check raises in a nested call", source: <<~'RUBY'
    class Verifier
      def call(token)
        answer = HTTP.get("/verify/#{token}")
        fail!(answer) if answer.empty?
      end

      def fail!(reason) = raise(ArgumentError, reason)
    end

    def show
      Verifier.new.call("abc")
      Model.find(1).name
    end
  RUBY

  case_of "next in a block", source: <<~'RUBY'
    def show
      %w[a b].map do |key|
        row = Model.find_by(key: key)
        next if row.name.empty?

        HTTP.get("/stats")
      end
    end
  RUBY

  case_of "a loop stops at what is enough", source: <<~'RUBY'
    def show
      found = []
      %w[a b c].each do |shard|
        found << HTTP.get("/shards/#{shard}")
        break if found.size == 3
      end
      found
    end
  RUBY

  case_of "lazily, the first two", source: <<~'RUBY'
    def show
      %w[a b c d].lazy.map { |name| HTTP.get("/#{name}") }.select { |text| text.size > 1 }.first(2)
    end
  RUBY

  case_of "a counter is raised, then read", source: <<~'RUBY'
    def show
      redis = Redis.new
      redis.incr("hits")
      hits = redis.get("hits")
      "#{hits} hits"
    end
  RUBY

  case_of "the same key by two clients", source: <<~'RUBY'
    def show
      HTTP.put("/profile/1")
      profile = Faraday.new.get("/profile/1").body
      profile["id"]
    end
  RUBY

  case_of "cancelled before it is booked again", source: <<~'RUBY'
    class Booking
      def move(from, to)
        cancel(from)
        book(to)
      end

      private

      def cancel(slot) = HTTP.delete("/slots/#{slot}")
      def book(slot) = HTTP.post("/slots/#{slot}")
    end

    def show
      Booking.new.move(1, 2)
    end
  RUBY

  case_of "the block of a scope refers to the row found", source: <<~'RUBY'
    def show
      project = Model.find(1)
      members = memoize(:members) { Model.where(project_id: project.id) }
      members.size
    end

    def memoize(name)
      @memo ||= {}
      @memo.fetch(name) { @memo[name] = yield }
    end
  RUBY

  case_of "a conversion of the first's list", source: <<~'RUBY'
    def show
      ids = Model.pluck(:id)
      *, last = ids
      head, tail = ids.partition { |row| row.id < last.id }
      Model.find_by_sql("SELECT * FROM t WHERE id = #{head.size} OR id = #{tail.size}").size
    end
  RUBY

  case_of "swapped names", source: <<~'RUBY'
    def show
      mine = 1
      theirs = Model.find(5).id
      mine, theirs = theirs, mine
      rows = HTTP.get("/diff/#{mine}")
      [rows, theirs]
    end
  RUBY

  case_of "a scroller keeps its place", source: <<~'RUBY'
    class Scroll
      def initialize = @cursor = "start"

      def next_page
        page = HTTP.get("/log?after=#{@cursor}")
        @cursor = page.size
        page
      end
    end

    def show
      scroll = Scroll.new
      newest = scroll.next_page
      older = scroll.next_page
      [newest, older]
    end
  RUBY

  case_of "an enumerator is asked twice", source: <<~'RUBY'
    def show
      pages = Enumerator.new do |out|
        link = "/p/1"
        loop { out << (link = HTTP.get(link)) }
      end
      first = pages.next
      second = pages.next
      [first, second]
    end
  RUBY

  case_of "a protocol over one socket", source: <<~'RUBY'
    class Mailbox
      def initialize(socket) = @socket = socket

      def open
        @socket.gets
        @socket.write("USER bob\r\n")
        @socket.gets
      end
    end

    def show
      Mailbox.new(Socket.new).open
    end
  RUBY
end
