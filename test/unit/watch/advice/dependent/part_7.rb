# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "later settings go over the former", source: <<~'RUBY'
    class Settings
      def initialize = @values = {}
      def defaults = @values.update(color: HTTP.get("/defaults", 0.3))
      def own = @values.update(color: HTTP.get("/own", 0.1))
      def to_h = @values
    end

    def show
      settings = Settings.new
      settings.defaults
      settings.own
      settings.to_h
    end
  RUBY

  case_of "the page number is changed between", source: <<~'RUBY'
    def show
      @page = 1
      first = fetch
      @page = 2
      second = fetch
      [first, second]
    end

    def fetch
      HTTP.get("/rows?page=#{@page}")
    end
  RUBY

  case_of "the filter is changed between", source: <<~'RUBY'
    def show
      filters = { state: "open" }
      open = search(filters)
      filters[:state] = "late"
      late = search(filters)
      [open, late]
    end

    def search(filters)
      HTTP.get("/search?state=#{filters[:state]}")
    end
  RUBY

  case_of "the URL is changed between", source: <<~'RUBY'
    def show
      url = +"/v1"
      first = HTTP.get(url)
      url << "/next"
      second = HTTP.get(url)
      [first, second]
    end
  RUBY

  case_of "a header of the connection is changed between", source: <<~'RUBY'
    def show
      api = Faraday.new
      api.headers["X-Tenant"] = "acme"
      acme = api.get("/users").body
      api.headers["X-Tenant"] = "umbrella"
      umbrella = api.get("/users").body
      [acme, umbrella]
    end
  RUBY

  case_of "a setting of a class is changed between", source: <<~'RUBY'
    class Zone
      class << self
        attr_accessor :name
      end
    end

    class Agenda
      def self.today = HTTP.get("/agenda?zone=#{Zone.name}")
    end

    def show
      Zone.name = "Rome"
      rome = Agenda.today
      Zone.name = "Oslo"
      oslo = Agenda.today
      [rome, oslo]
    end
  RUBY

  case_of "a block of settings around each", source: <<~'RUBY'
    class Shard
      class << self
        attr_reader :name

        def use(name)
          before = @name
          @name = name
          yield
        ensure
          @name = before
        end
      end
    end

    def show
      left = Shard.use("left") { count }
      right = Shard.use("right") { count }
      left.size + right.size
    end

    def count = HTTP.get("/count/#{Shard.name}")
  RUBY

  case_of "a reader that waits before it reads what the next writes", source: <<~'RUBY'
    def show
      @mode = "old"
      summary = summarize
      switch
      [summary, @mode]
    end

    def summarize
      head = HTTP.get("/head")
      HTTP.get("/tail/#{head.size}/#{@mode}")
    end

    def switch
      @mode = HTTP.get("/mode")
    end
  RUBY

  case_of "before and after a write", source: <<~'RUBY'
    def show
      before = HTTP.get("/counter")
      HTTP.post("/run")
      after = HTTP.get("/counter")
      [before, after]
    end
  RUBY

  case_of "a list is cleared between", source: <<~'RUBY'
    class Batch
      def initialize = @ids = []
      def add(*ids) = @ids.concat(ids)

      def flush
        rows = HTTP.get("/rows?ids=#{@ids.join(",")}")
        @ids.clear
        rows
      end
    end

    def show
      batch = Batch.new
      batch.add(1, 2)
      first = batch.flush
      batch.add(3, 4)
      second = batch.flush
      [first, second]
    end
  RUBY

  case_of "a template uses what the action found", source: <<~'RUBY'
    require "erb"

    VIEW = '<h1><%= @user.name %></h1><%= HTTP.get("/feed/#{@user.id}") %>'
    TEMPLATE = "#{File.dirname(__FILE__)}/show.html.erb"
    File.write(TEMPLATE, VIEW)
    class_eval("def view\n#{ERB.new(VIEW).src}\nend", TEMPLATE, -1)

    def show
      @user = Model.find(1)
      view
    end
  RUBY

  case_of "a template with the action's binding", source: <<~'RUBY'
    require "erb"

    def show
      user = Model.find(1)
      ERB.new('<%= HTTP.get("/feed/#{user.id}") %>').result(binding)
    end
  RUBY

  case_of "eval", source: <<~'RUBY'
    def show
      id = Model.find(1).id
      eval('HTTP.get("/feed/#{id}")')
    end
  RUBY

  case_of "a relation is asked for later", source: <<~'RUBY'
    def show
      user = Model.find(1)
      posts = Relation.new(user_id: user.id)
      render(posts)
    end

    def render(posts)
      posts.map(&:name).join(",")
    end
  RUBY

  case_of "a relation is narrowed by the first", source: <<~'RUBY'
    def show
      posts = Relation.new(state: "new")
      posts = posts.where(team: Model.find(1).id)
      "#{posts.size} posts"
    end
  RUBY

  case_of "a relation is loaded after the write", source: <<~'RUBY'
    def show
      orders = Relation.new(state: "open")
      Model.create!(state: "open")
      orders.to_a.size
    end
  RUBY

  case_of "instance_variable_get", source: <<~'RUBY'
    def show
      @user = Model.find(1)
      feed_of(:user)
    end

    def feed_of(name)
      HTTP.get("/feed/#{instance_variable_get("@#{name}").id}")
    end
  RUBY

  case_of "instance_eval sets the token", source: <<~'RUBY'
    class Client
      def get(path) = HTTP.get(path, 0.1, token: @token)
    end

    def show
      client = Client.new
      client.instance_eval { @token = HTTP.post("/token") }
      client.get("/me")
    end
  RUBY

  case_of "a member of a struct by its number", source: <<~'RUBY'
    Pair = Struct.new(:left, :right)

    def show
      pair = Pair.new
      pair[0] = HTTP.get("/left")
      pair[1] = HTTP.get("/right?of=#{pair.left}")
      pair.to_a
    end
  RUBY

  case_of "defined?", source: <<~'RUBY'
    def show
      prepare
      return "none" unless defined?(@plan)

      HTTP.get("/plan-details")
    end

    def prepare
      answer = HTTP.get("/plan")
      @plan = answer unless answer.empty?
    end
  RUBY

  case_of "a rescue that returns", source: <<~'RUBY'
    class Invalid < StandardError; end

    def show
      begin
        verify(HTTP.get("/signature"))
      rescue Invalid
        return "400"
      end
      HTTP.get("/payload")
    end

    def verify(text)
      raise Invalid if text.empty?
    end
  RUBY

  case_of "rows are looked through for a return", source: <<~'RUBY'
    def show
      Model.where(kind: "ban").each do |ban|
        return "banned" if ban.name == "me"
      end
      HTTP.get("/welcome")
    end
  RUBY

  case_of "a boolean is carried on", source: <<~'RUBY'
    def show
      ok = HTTP.get("/first").size > 3
      ok = ok && HTTP.get("/second").size > 3
      ok ? "yes" : "no"
    end
  RUBY

  case_of "the number of misses ends it", source: <<~'RUBY'
    class Probe
      def initialize = @misses = 0

      def ask(path)
        return if @misses.positive?

        answer = HTTP.get(path)
        @misses += 1 if answer.empty?
        answer
      end
    end

    def show
      probe = Probe.new
      left = probe.ask("/left")
      right = probe.ask("/right")
      [left, right]
    end
  RUBY

  case_of "messages in the order of a log", source: <<~'RUBY'
    def show
      @log = []
      step("stock")
      step("price")
      @log.last
    end

    def step(name)
      answer = HTTP.get("/#{name}")
      @log << "#{@log.size + 1}. #{name}: #{answer}"
    end
  RUBY

  case_of "a stack of contexts", source: <<~'RUBY'
    class Scope
      def initialize = @stack = []

      def within(name)
        @stack.push(name)
        yield
      ensure
        @stack.pop
      end

      def path = @stack.join("/")
    end

    def show
      scope = Scope.new
      left = scope.within("left") { HTTP.get("/#{scope.path}/#{ask(scope)}") }
      [left, scope.path]
    end

    def ask(scope) = HTTP.get("/id/#{scope.path}")
  RUBY

  case_of "reserved, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Beaneater::Tube")
      one = client.reserve("x")
      rest = client.stats("x")
      [one, rest]
    end
  RUBY

  case_of "polled, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Rdkafka::Consumer")
      one = client.poll("x")
      rest = client.committed("x")
      [one, rest]
    end
  RUBY

  case_of "taken by getset, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis")
      one = client.getset("x")
      rest = client.get("x")
      [one, rest]
    end
  RUBY

  case_of "moved, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis")
      one = client.blmove("x")
      rest = client.llen("x")
      [one, rest]
    end
  RUBY

  case_of "read by a group, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis")
      one = client.xreadgroup("x")
      rest = client.xpending("x")
      [one, rest]
    end
  RUBY

  case_of "claimed, then looked at", source: <<~'RUBY'
    def show
      client = Sdk.new("Que::Job")
      one = client.claim("x")
      rest = client.depth("x")
      [one, rest]
    end
  RUBY

  case_of "a local is assigned anew between, both use it", source: <<~'RUBY'
    def show
      url = "/first"
      first = fetch { url }
      url = "/second"
      second = fetch { url }
      [first, second]
    end

    def fetch = HTTP.get(yield)
  RUBY

  case_of "a counter is raised between", source: <<~'RUBY'
    def show
      page = 1
      first = HTTP.get("/rows?page=#{page}")
      page += 1
      second = HTTP.get("/rows?page=#{page}")
      first + second
    end
  RUBY

  case_of "a helper turns the page between", source: <<~'RUBY'
    class Book
      def initialize = @page = 1
      def read = HTTP.get("/pages/#{@page}")
      def turn = @page += 1
    end

    def show
      book = Book.new
      left = book.read
      book.turn
      right = book.read
      [left, right]
    end
  RUBY

  case_of "a writer of self between", source: <<~'RUBY'
    attr_accessor :scope

    def show
      self.scope = "open"
      open = count
      self.scope = "late"
      late = count
      [open, late]
    end

    def count = HTTP.get("/count/#{scope}")
  RUBY

  case_of "the first of a list is removed between", source: <<~'RUBY'
    def show
      hosts = %w[a b]
      first = HTTP.get("/#{hosts.first}")
      hosts.shift
      second = HTTP.get("/#{hosts.first}")
      [first, second]
    end
  RUBY

  case_of "a param is deleted between", source: <<~'RUBY'
    def show
      params = { q: "boots", size: "44" }
      exact = HTTP.get("/search?#{params}")
      params.delete(:size)
      similar = HTTP.get("/search?#{params}")
      [exact, similar]
    end
  RUBY

  case_of "or-assignment of a key", source: <<~'RUBY'
    def show
      found = {}
      found[:user] ||= Redis.new.get("user")
      found[:user] ||= Model.find(1)
      found[:user].name
    end
  RUBY

  case_of "or-assignment of an attribute", source: <<~'RUBY'
    Page = Struct.new(:title)

    def show
      page = Page.new
      page.title ||= Redis.new.get("title")
      page.title ||= HTTP.get("/title")
      page.title
    end
  RUBY

  case_of "assigned only if still nil", source: <<~'RUBY'
    def show
      rate = Redis.new.get("rate")
      rate = HTTP.get("/rate") if rate.nil?
      rate
    end
  RUBY

  case_of "assigned unless the helper has found it", source: <<~'RUBY'
    def show
      look_in_cache
      @page = HTTP.get("/page") unless @page
      @page
    end

    def look_in_cache
      @page = Redis.new.get("page")
    end
  RUBY

  case_of "a proc in an instance variable", source: <<~'RUBY'
    def show
      @seen = []
      @note = proc { |row| @seen << row.id }
      @note.call(Model.find(1))
      HTTP.get("/similar?to=#{@seen.join(",")}")
    end
  RUBY

  case_of "a block is handed on", source: <<~'RUBY'
    def show
      last = nil
      each_row { |row| last = row.id }
      HTTP.get("/after/#{last}")
    end

    def each_row(&block)
      Model.where(kind: "a").each(&block)
    end
  RUBY

  case_of "the push of a list as a method", source: <<~'RUBY'
    def show
      ids = []
      Model.where(kind: "a").each(&ids.method(:push))
      HTTP.get("/batch?size=#{ids.size}")
    end
  RUBY

  case_of "a collector is given the list", source: <<~'RUBY'
    class Collector
      def initialize(list) = @list = list
      def collect = @list.push(HTTP.get("/one"))
    end

    def show
      found = []
      Collector.new(found).collect
      HTTP.get("/next?after=#{found.last}")
    end
  RUBY

  case_of "a list was got before it was filled", source: <<~'RUBY'
    class Page
      attr_reader :items

      def initialize = @items = []
      def load = @items.concat(Model.where(page: 1))
    end

    def show
      page = Page.new
      items = page.items
      page.load
      HTTP.get("/prices?count=#{items.size}")
    end
  RUBY

  case_of "the first row of a list is changed", source: <<~'RUBY'
    def show
      rows = [Model.new(1), Model.new(2)]
      first = rows.first
      first.name = HTTP.get("/name")
      HTTP.get("/labels?of=#{rows.map(&:name).join(",")}")
    end
  RUBY

  case_of "each row is given its name", source: <<~'RUBY'
    def show
      rows = [Model.new(1)]
      rows.each { |row| row.name = HTTP.get("/name/#{row.id}") }
      HTTP.get("/labels?of=#{rows.map(&:name).join(",")}")
    end
  RUBY

  case_of "a list inside a hash", source: <<~'RUBY'
    def show
      ids = []
      page = { ids: ids }
      page[:ids] << Model.find(1).id
      HTTP.get("/batch?ids=#{ids}")
    end
  RUBY

  case_of "two names in one assignment", source: <<~'RUBY'
    def show
      left = right = []
      left << HTTP.get("/left")
      HTTP.get("/right?n=#{right.size}")
    end
  RUBY
end
