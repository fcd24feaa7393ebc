# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "two jobs are taken from one list", source: <<~'RUBY'
    def show
      redis = Redis.new
      oldest = redis.lpop("jobs")
      next_one = redis.lpop("jobs")
      [oldest, next_one]
    end
  RUBY

  case_of "a budget of time is used up", source: <<~'RUBY'
    def show
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      core = HTTP.get("/core", 0.4)
      left = 0.5 - (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started)
      return [core] if left.negative?

      [core, HTTP.get("/extras", 0.2)]
    end
  RUBY

  case_of "a callback is called later", source: <<~'RUBY'
    def show
      @after = []
      after { HTTP.get("/recommend/#{@order.id}") }
      @order = Model.find(1)
      @after.map(&:call)
    end

    def after(&block)
      @after << block
    end
  RUBY

  case_of "generated accessors", source: <<~'RUBY'
    class Context
      %w[team plan].each do |name|
        define_method(name) { @values[name] }
        define_method("#{name}=") { |value| (@values ||= {})[name] = value }
      end
    end

    def show
      context = Context.new
      context.team = Model.find(1)
      context.plan = HTTP.get("/plans/#{context.team.id}")
      context.plan
    end
  RUBY

  case_of "settings by method_missing", source: <<~'RUBY'
    class Settings
      def initialize = @values = {}
      def respond_to_missing?(*) = true

      def method_missing(name, *arguments)
        name.end_with?("=") ? @values[name[..-2]] = arguments.first : @values[name.to_s]
      end
    end

    def show
      settings = Settings.new
      settings.region = HTTP.get("/region")
      HTTP.get("/nodes?region=#{settings.region}")
    end
  RUBY

  case_of "the helper knows its maker", source: <<~'RUBY'
    class Sidebar
      def initialize(page) = @page = page
      def links = HTTP.get("/links?for=#{@page.owner_name}")
    end

    class Page
      def initialize = @sidebar = Sidebar.new(self)
      def owner_name = @owner.name

      def render
        @owner = Model.find(1)
        "#{@owner.name} #{@sidebar.links}"
      end
    end

    def show
      Page.new.render
    end
  RUBY

  case_of "the environment", source: <<~'RUBY'
    def show
      renew_token
      usage
    ensure
      ENV.delete("CLOUD_TOKEN")
    end

    def renew_token
      ENV["CLOUD_TOKEN"] = HTTP.post("/token")
    end

    def usage
      HTTP.get("/usage", 0.1, auth: ENV.fetch("CLOUD_TOKEN"))
    end
  RUBY

  case_of "a constant hash is the cache", source: <<~'RUBY'
    RATES = {}

    def show
      refresh
      convert(10)
    end

    def refresh
      RATES[:eur] = HTTP.get("/rates/eur").size
    end

    def convert(amount)
      Model.where("price < ?", amount * RATES.fetch(:eur))
    end
  RUBY

  case_of "a class variable", source: <<~'RUBY'
    class Geo
      @@region = nil

      def self.locate
        @@region = HTTP.get("/ip")
      end

      def self.stores
        HTTP.get("/stores/#{@@region}")
      end
    end

    def show
      Geo.locate
      Geo.stores
    end
  RUBY

  case_of "a configure block", source: <<~'RUBY'
    Config = Struct.new(:key)

    class Sms
      def self.config = @config ||= Config.new
      def self.configure = yield(config)
      def self.balance = HTTP.get("/balance?key=#{config.key}")
    end

    def show
      Sms.configure { |config| config.key = HTTP.get("/vault/sms") }
      Sms.balance
    end
  RUBY

  case_of "an attribute of a row is set", source: <<~'RUBY'
    def show
      user = Model.new(1)
      user.name = HTTP.get("/names/1")
      slug_for(user)
    end

    def slug_for(record)
      HTTP.get("/slugs?name=#{record.name}")
    end
  RUBY

  case_of "a numbered parameter", source: <<~'RUBY'
    def show
      Model.find(1).then { HTTP.get("/tags/#{_1.id}") }
    end
  RUBY

  case_of "a method as a block", source: <<~'RUBY'
    def show
      Model.find(1).then(&method(:orders_of))
    end

    def orders_of(user)
      HTTP.get("/orders/#{user.id}")
    end
  RUBY

  case_of "composed procs", source: <<~'RUBY'
    FIND = ->(id) { Model.find(id) }
    SCORE = ->(user) { HTTP.get("/score/#{user.id}") }

    def show
      (FIND >> SCORE).call(1)
    end
  RUBY

  case_of "a symbol as a block", source: <<~'RUBY'
    def show
      [Model.find(1)].map(&:owner).map(&:name)
    end
  RUBY

  case_of "fetch with a block", source: <<~'RUBY'
    def show
      profile = Faraday.new.get("/profile").body
      profile.fetch("nickname") { HTTP.get("/nickname") }
    end
  RUBY

  case_of "the error is reported", source: <<~'RUBY'
    def show
      parse(HTTP.get("/feed"))
    rescue ArgumentError => e
      HTTP.post("/errors?message=#{e.message.size}")
      "sorry"
    end

    def parse(text)
      raise ArgumentError, "bad" unless text.start_with?("<")
    end
  RUBY

  case_of "whens are asked in turn", source: <<~'RUBY'
    def show
      case
      when HTTP.get("/is/admin") == "yes" then "admin"
      when HTTP.get("/is/staff") == "yes" then "staff"
      else "guest"
      end
    end
  RUBY

  case_of "elsif", source: <<~'RUBY'
    def show
      if Redis.new.get("maintenance")
        "down"
      elsif Model.exists?(banned: true) == false
        "banned"
      else
        HTTP.get("/home")
      end
    end
  RUBY

  case_of "or-assignment, the next if none", source: <<~'RUBY'
    def show
      user = nil
      user ||= by_cookie
      user ||= by_token
      user.name
    end

    def by_cookie
      Model.find_by(cookie: "c")
      nil
    end

    def by_token
      Model.find_by(token: "t")
    end
  RUBY

  case_of "saved, then its rows", source: <<~'RUBY'
    def show
      order = Model.new(1)
      order.save
      lines = order.items
      lines.map(&:id)
    end
  RUBY

  case_of "both in a return's condition", source: <<~'RUBY'
    def show
      return "no" if Model.count.zero? || HTTP.get("/closed").empty?

      "yes"
    end
  RUBY

  case_of "a monitor is entered again by the same fiber", source: <<~'RUBY'
    require "monitor"

    class Registry
      def initialize = @lock = Monitor.new
      def all = @lock.synchronize { [users, plans] }
      def users = @lock.synchronize { @users ||= Model.where(kind: "user") }
      def plans = @lock.synchronize { @plans ||= HTTP.get("/plans") }
    end

    def show
      Registry.new.all
    end
  RUBY

  case_of "what Thread.current says is not a task's", source: <<~'RUBY'
    def show
      Thread.current[:tenant] = "acme"
      invoices = Tenanted.get("/invoices")
      members = Tenanted.get("/members")
      [invoices, members]
    end

    class Tenanted
      def self.get(path)
        HTTP.get("/#{Thread.current[:tenant].downcase}#{path}")
      end
    end
  RUBY

  case_of "a guard clause inside tap", source: <<~'RUBY'
    class NotFound < StandardError; end

    def show
      article = Model.find_by(slug: "a").tap { |found| raise NotFound unless found }
      related = HTTP.get("/related")
      [article.name, related]
    end
  RUBY

  case_of "the retry asks for a new token", source: <<~'RUBY'
    class Drive
      def files
        request("/files")
      rescue IOError
        @token = HTTP.post("/refresh")
        request("/files")
      end

      def request(path)
        answer = HTTP.get(path, 0.1, token: @token)
        raise IOError, "401" unless @token

        answer
      end
    end

    def show
      Drive.new.files
    end
  RUBY

  case_of "a struct sets its own member", source: <<~'RUBY'
    Trip = Struct.new(:from, :to, keyword_init: true) do
      def locate
        self.from = HTTP.get("/here")
      end

      def route
        HTTP.get("/route?#{to_h.values.join("-")}")
      end
    end

    def show
      trip = Trip.new(to: "Rome")
      trip.locate
      trip.route
    end
  RUBY

  case_of "a set in place", source: <<~'RUBY'
    def show
      scopes = %w[read]
      widen(scopes)
      HTTP.get("/files?scope=#{scopes.join("+")}")
    end

    def widen(list)
      list.push(*Redis.new.hgetall("grants").keys)
    end
  RUBY

  case_of "a block decides which comes next", source: <<~'RUBY'
    def show
      respond do |format|
        format == "html" ? HTTP.get("/template") : "json"
      end
    end

    def respond
      format = Model.find(1).name == "name" ? "html" : "json"
      yield format
    end
  RUBY

  case_of "the last match", source: <<~'RUBY'
    def show
      HTTP.get("/version") =~ %r{answer to (/\w+)}
      HTTP.get("/changes#{$1}")
    end
  RUBY

  case_of "Regexp.last_match", source: <<~'RUBY'
    def show
      HTTP.get("/version").match?(/answer/) && HTTP.get("/beta").match(/to (.*)/)
      HTTP.get("/notes#{Regexp.last_match(1)}")
    end
  RUBY

  case_of "a named capture makes a local", source: <<~'RUBY'
    def show
      /to (?<path>.*)/ =~ HTTP.get("/where")
      HTTP.get("/there?from=#{path}")
    end
  RUBY

  case_of "and-assignment", source: <<~'RUBY'
    def show
      token = Redis.new.hgetall("session")
      token &&= HTTP.get("/exchange")
      token
    end
  RUBY

  case_of "or-assignment of an instance variable", source: <<~'RUBY'
    def show
      @address ||= cached_address
      @address ||= HTTP.get("/address")
      @address
    end

    def cached_address
      Redis.new.get("address")
    end
  RUBY

  case_of "an assignment in a condition", source: <<~'RUBY'
    def show
      if (session = Model.find_by(sid: "s"))
        HTTP.get("/touch")
        session.name
      end
    end
  RUBY

  case_of "a modifier", source: <<~'RUBY'
    def show
      @report = HTTP.get("/report", 0.3) if Model.exists?(admin: true)
      @report.to_s
    end
  RUBY

  case_of "a loop's value", source: <<~'RUBY'
    def show
      lease = loop do
        answer = HTTP.get("/lease")
        break answer if answer.size > 3
      end
      HTTP.get("/use?lease=#{lease}")
    end
  RUBY

  case_of "a return inside of a block", source: <<~'RUBY'
    def show
      with_session { |session| return "401" if session.name.empty? }
      HTTP.get("/inbox")
    end

    def with_session
      yield Model.find_by(sid: "s")
    end
  RUBY

  case_of "the check is what a block says", source: <<~'RUBY'
    def show
      catch(:halt) do
        allow { Model.exists?(admin: true) }
        HTTP.get("/admin")
      end
    end

    def allow
      throw :halt, 403 unless yield
    end
  RUBY

  case_of "deny is a method like others", source: <<~'RUBY'
    class Denied < RuntimeError; end

    def show
      deny unless member?
      HTTP.get("/club")
    rescue Denied
      "403"
    end

    def member? = Model.find(1).name == "name"
    def deny = raise(Denied)
  RUBY

  case_of "else of a begin", source: <<~'RUBY'
    def show
      begin
        plan = HTTP.get("/plan")
        raise IOError if plan.empty?
      rescue IOError
        @error = "no plan"
      else
        @seats = HTTP.get("/seats")
      end
      [plan, @seats, @error]
    end
  RUBY

  case_of "a rescue modifier", source: <<~'RUBY'
    def show
      value = (Integer(HTTP.get("/fast")) rescue HTTP.get("/slow"))
      "value #{value}"
    end
  RUBY

  case_of "once for each row, without the row", source: <<~'RUBY'
    def show
      Model.where(state: "new").first(1).each do
        @greeting = HTTP.get("/greeting")
      end
      @greeting
    end
  RUBY

  case_of "as often as the first says", source: <<~'RUBY'
    def show
      seats = Model.find(1).id
      seats.times { HTTP.get("/tick") }
      "done"
    end
  RUBY

  case_of "a writer of one's own", source: <<~'RUBY'
    attr_accessor :team

    def show
      self.team = Model.find(1)
      roster
    end

    def roster
      HTTP.get("/roster/#{team.id}")
    end
  RUBY

  case_of "send of a writer", source: <<~'RUBY'
    attr_accessor :team

    def show
      send(:team=, Model.find(1))
      HTTP.get("/roster/#{team.id}")
    end
  RUBY

  case_of "instance_exec", source: <<~'RUBY'
    class Form
      def fill(&block) = instance_exec(&block)
      def options = HTTP.get("/options/#{@kind}")
    end

    def show
      form = Form.new
      form.fill { @kind = HTTP.get("/kind") }
      form.options
    end
  RUBY

  case_of "a queue in memory", source: <<~'RUBY'
    def show
      work = []
      produce(work)
      consume(work)
    end

    def produce(list)
      list.unshift(HTTP.get("/next"))
    end

    def consume(list)
      HTTP.get("/do/#{list.pop}")
    end
  RUBY

  case_of "a closure counts", source: <<~'RUBY'
    def show
      seen = 0
      note = ->(rows) { seen += rows.size }
      note.call(Model.where(kind: "a"))
      HTTP.get("/more?after=#{seen}")
    end
  RUBY

  case_of "a method that closes over a local", source: <<~'RUBY'
    def show
      place = nil
      define_singleton_method(:stores) { HTTP.get("/stores/#{place}") }
      place = HTTP.get("/place")
      stores
    end
  RUBY

  case_of "a local by its binding", source: <<~'RUBY'
    def show
      zone = "UTC"
      binding.local_variable_set(:zone, HTTP.get("/zone"))
      HTTP.get("/clock?zone=#{zone}")
    end
  RUBY

  case_of "written into a buffer", source: <<~'RUBY'
    require "stringio"

    def show
      out = StringIO.new
      head(out)
      HTTP.post("/render?html=#{out.string}")
    end

    def head(out)
      out.puts HTTP.get("/head")
    end
  RUBY
end
