# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "a check is composed of two", source: <<~'RUBY'
    def show
      ok = [check(:age), check(:region)].all?
      return "no" unless ok

      HTTP.get("/shop")
    end

    def check(name)
      @answers ||= HTTP.get("/checks")
      @answers.include?("answer") && name
    end
  RUBY

  case_of "a writer with another name", source: <<~'RUBY'
    class Wizard
      def remember(value)
        @step = value
      end

      def current = @step
    end

    def show
      wizard = Wizard.new
      wizard.remember(HTTP.get("/step"))
      HTTP.get("/form?step=#{wizard.current}")
    end
  RUBY

  case_of "alias_method", source: <<~'RUBY'
    class Profile
      attr_accessor :city
      alias_method :town, :city
      alias_method :town=, :city=
    end

    def show
      profile = Profile.new
      profile.city = HTTP.get("/city")
      HTTP.get("/events?in=#{profile.town}")
    end
  RUBY

  case_of "comparable objects are sorted by what was loaded", source: <<~'RUBY'
    class Offer
      include Comparable
      attr_reader :price

      def load = @price = HTTP.get("/price").size
      def <=>(other) = price.to_i <=> other.price.to_i
    end

    def show
      offers = [Offer.new, Offer.new]
      offers.first.load
      HTTP.get("/best?price=#{offers.max.price}")
    end
  RUBY

  case_of "the page number rises if there were rows", source: <<~'RUBY'
    class Pages
      def initialize = @page = 1

      def fetch
        rows = HTTP.get("/list?page=#{@page}")
        @page += 1 unless rows.empty?
        rows
      end
    end

    def show
      pages = Pages.new
      pages.fetch
      pages.fetch
    end
  RUBY

  case_of "a message is taken, then the queue's length", source: <<~'RUBY'
    def show
      sqs = Sdk.new("Aws::SQS::Client")
      message = sqs.receive_message(queue_url: "q")
      left = sqs.get_queue_attributes(queue_url: "q")
      [message, left]
    end
  RUBY

  case_of "a payment is captured, then its balance", source: <<~'RUBY'
    def show
      stripe = Sdk.new("Stripe::PaymentIntent")
      made = stripe.capture("pi_1")
      balance = stripe.retrieve("pi_1")
      [made, balance["name"]]
    end
  RUBY

  case_of "a mail is delivered, then the log", source: <<~'RUBY'
    def show
      mail = Sdk.new("ActionMailer::MessageDelivery")
      mail.deliver_now
      "#{Model.count} mails"
    end
  RUBY

  case_of "a job is enqueued, then the queue listed", source: <<~'RUBY'
    def show
      jobs = Sdk.new("ActiveJob::Enqueuing")
      jobs.perform_later(7)
      jobs.list
    end
  RUBY

  case_of "a member is popped off a set, then the rest", source: <<~'RUBY'
    def show
      redis = Sdk.new("Redis")
      winner = redis.spop("raffle")
      left = redis.scard("raffle")
      [winner, left]
    end
  RUBY

  case_of "a lock is acquired, then the state read", source: <<~'RUBY'
    def show
      lock = Sdk.new("Redlock::Client")
      lock.acquire("deploy")
      Sdk.new("Consul::Kv").get("deploy/state")
    end
  RUBY

  case_of "a secret is rotated, then read", source: <<~'RUBY'
    def show
      vault = Sdk.new("Aws::SecretsManager::Client")
      vault.rotate_secret(secret_id: "db")
      vault.get_secret_value(secret_id: "db")
    end
  RUBY

  case_of "an order is approved, then listed", source: <<~'RUBY'
    def show
      erp = Sdk.new("Erp::Orders")
      erp.approve(7)
      erp.list(state: "approved")
    end
  RUBY

  case_of "a pull request is merged, then the branch compared", source: <<~'RUBY'
    def show
      github = Sdk.new("Octokit::Client")
      github.merge_pull_request("a/b", 7)
      github.compare("a/b", "main", "next")
    end
  RUBY

  case_of "a node is restarted, then its health", source: <<~'RUBY'
    def show
      cluster = Sdk.new("Kubeclient::Client")
      cluster.restart("web-1")
      cluster.status("web-1")
    end
  RUBY

  case_of "a record of a stream, then its offset", source: <<~'RUBY'
    def show
      kafka = Sdk.new("Kafka::Producer")
      kafka.produce("x", topic: "events")
      kafka.last_offset_for("events", 0)
    end
  RUBY

  case_of "a key is incremented by another name", source: <<~'RUBY'
    def show
      redis = Sdk.new("Redis")
      redis.hincrby("stats", "views", 1)
      redis.hget("stats", "views")
    end
  RUBY

  case_of "flushed, then counted", source: <<~'RUBY'
    def show
      search = Sdk.new("Meilisearch::Index")
      search.reset
      search.stats
    end
  RUBY

  case_of "a controller with filters and a policy", source: <<~'RUBY'
    class Forbidden < StandardError; end

    class Policy
      def initialize(user, record) = (@user, @record = user, record)
      def show? = @record.owner_id == @user.id
    end

    class DocumentsController
      def show
        set_document
        authorize(@document)
        @versions = HTTP.get("/versions/7")
      end

      private

      def set_document = @document = Model.find(7)

      def authorize(record)
        raise Forbidden unless Policy.new(Model.new(1), record).show?
      end
    end

    def show = DocumentsController.new.show
  RUBY

  case_of "a form object is valid, then saved elsewhere", source: <<~'RUBY'
    class SignupForm
      def initialize(email) = (@email, @errors = email, [])

      def submit
        return { errors: @errors } unless valid?

        { plans: HTTP.get("/plans") }
      end

      def valid?
        check_format
        check_unique
        @errors.empty?
      end

      def check_format = @email.include?("@") || @errors << "format"
      def check_unique = Model.exists?(email: @email) && @errors.concat([])
    end

    def show = SignupForm.new("a@b.test").submit
  RUBY

  case_of "routes that load before they branch", source: <<~'RUBY'
    def show
      on("teams") do
        @team = Model.find(1)
        next "404" if @team.name.empty?

        on("members") { HTTP.get("/presence") }
      end
    end

    def on(_segment)
      yield
    end
  RUBY

  case_of "a query object that narrows itself", source: <<~'RUBY'
    class Finder
      def initialize = @filters = { state: "open" }

      def for_region(name)
        @filters = @filters.merge(region: HTTP.get("/regions/#{name}"))
        self
      end

      def call = Model.where(**@filters).size
    end

    def show
      finder = Finder.new
      finder.for_region("north")
      finder.call
    end
  RUBY

  case_of "a state machine", source: <<~'RUBY'
    class Delivery
      attr_reader :state

      def initialize = @state = :new

      def advance
        case @state
        when :new then @state = HTTP.get("/pickup").empty? ? :failed : :picked
        when :picked then @state = HTTP.get("/handover").empty? ? :failed : :done
        end
      end
    end

    def show
      delivery = Delivery.new
      delivery.advance
      delivery.advance
      delivery.state
    end
  RUBY

  case_of "an accumulator in keyword arguments", source: <<~'RUBY'
    def show
      totals = add(totals: {}, name: "net")
      totals = add(totals:, name: "tax")
      totals.values
    end

    def add(totals:, name:)
      totals.merge(name => HTTP.get("/sum/#{name}?over=#{totals.size}"))
    end
  RUBY

  case_of "a price with a discount step", source: <<~'RUBY'
    class Pricing
      attr_reader :price

      def initialize(sku) = @sku = sku

      def call
        base
        discount
        price
      end

      private

      def base = @price = HTTP.get("/base/#{@sku}").size
      def discount = @price -= HTTP.get("/discount?on=#{@price}").size
    end

    def show = Pricing.new("boots").call
  RUBY

  case_of "an import that stops at the first error", source: <<~'RUBY'
    def show
      errors = []
      check("header", errors)
      check("rows", errors) if errors.empty?
      errors
    end

    def check(part, errors)
      answer = HTTP.get("/check/#{part}")
      errors << part unless answer.start_with?("answer")
    end
  RUBY

  case_of "a token that is refreshed when it is old", source: <<~'RUBY'
    class Session
      def initialize = @expires_at = 0

      def get(path)
        renew if @expires_at < 1
        HTTP.get(path, 0.1, token: @token)
      end

      private

      def renew
        @token = HTTP.post("/token")
        @expires_at = 10
      end
    end

    def show = Session.new.get("/me")
  RUBY

  case_of "both would renew the token", source: <<~'RUBY'
    class Session
      def initialize = @expires_at = 0

      def get(path)
        renew if @expires_at < 1
        HTTP.get(path, 0.1, token: @token)
      end

      private

      def renew
        @token = HTTP.post("/token")
        @expires_at = 10
      end
    end

    def show
      session = Session.new
      [session.get("/me"), session.get("/mails")]
    end
  RUBY

  case_of "the second finds the first's rows in a memo of the class", source: <<~'RUBY'
    class Countries
      class << self
        def all = @all ||= HTTP.get("/countries")
        def codes = @codes ||= HTTP.get("/codes?of=#{all.size}")
      end
    end

    def show
      [Countries.all, Countries.codes]
    end
  RUBY

  case_of "a view asks what the controller exposes", source: <<~'RUBY'
    module Exposed
      def expose(name, &found)
        define_method(name) do
          @exposed ||= {}
          @exposed.fetch(name) { @exposed[name] = instance_exec(&found) }
        end
      end
    end

    class Page
      extend Exposed
      expose(:team) { Model.find(1) }
      expose(:members) { Model.where(team_id: team.id) }

      def render = "#{team.name}: #{members.size}"
    end

    def show = Page.new.render
  RUBY

  case_of "a value is copied with changes", source: <<~'RUBY'
    Ticket = Struct.new(:id, :seat, keyword_init: true) do
      def with(**changes) = self.class.new(**to_h, **changes)
    end

    def show
      ticket = Ticket.new(id: 1)
      ticket = ticket.with(seat: HTTP.get("/seat/#{ticket.id}"))
      HTTP.get("/print/#{ticket.seat}")
    end
  RUBY

  case_of "freeze after filling", source: <<~'RUBY'
    def show
      config = {}
      config.update("host" => HTTP.get("/discover"))
      config.freeze
      connect(**config.transform_keys(&:to_sym))
    end

    def connect(host:)
      HTTP.get("/ping?host=#{host}")
    end
  RUBY

  case_of "a delegator", source: <<~'RUBY'
    require "delegate"

    class Loaded < SimpleDelegator
      def load
        __setobj__(Model.find(1))
        self
      end
    end

    def show
      user = Loaded.new(nil)
      user.load
      HTTP.get("/karma/#{user.id}")
    end
  RUBY

  case_of "a nested method of a block's argument", source: <<~'RUBY'
    class Ui
      def initialize = @parts = []
      def part(text) = @parts.push(text)
      def to_s = @parts.join
    end

    def page
      ui = Ui.new
      yield ui
      HTTP.post("/publish?html=#{ui}")
    end

    def show
      page { |ui| ui.part(HTTP.get("/intro")) }
    end
  RUBY

  case_of "max over what came, then its details", source: <<~'RUBY'
    def show
      best = [Model.find(1), Model.new(2)].max_by(&:id)
      HTTP.get("/details/#{best.id}")
    end
  RUBY

  case_of "unless the list has enough", source: <<~'RUBY'
    def show
      rows = Model.where(near: true)
      rows.concat(Model.where(near: false)) unless rows.size > 10
      rows.size
    end
  RUBY

  case_of "a while loop that waits for a state", source: <<~'RUBY'
    def show
      state = HTTP.get("/state")
      turns = 0
      until turns == 2
        state = HTTP.get("/state?was=#{state.size}")
        turns += 1
      end
      state
    end
  RUBY

  case_of "a comparison with the old answer", source: <<~'RUBY'
    def show
      @last = nil
      changed? && changed?
    end

    def changed?
      now = HTTP.get("/version")
      before = @last
      @last = now
      before != now
    end
  RUBY

  case_of "parts are appended by helpers, in order", source: <<~'RUBY'
    def show
      parts = []
      head(parts)
      body(parts)
      parts.join("\n")
    end

    def head(parts) = parts << HTTP.get("/head", 0.3)
    def body(parts) = parts << HTTP.get("/body", 0.1)
  RUBY

  case_of "an output buffer of the object", source: <<~'RUBY'
    class View
      def initialize = @out = +""

      def render
        menu
        main
        @out
      end

      private

      def menu
        @out << "<nav>" << HTTP.get("/menu", 0.3) << "</nav>"
      end

      def main
        @out << "<main>" << HTTP.get("/main", 0.1) << "</main>"
      end
    end

    def show = View.new.render
  RUBY

  case_of "written to a StringIO in order", source: <<~'RUBY'
    require "stringio"

    def show
      out = StringIO.new
      section(out, "news")
      section(out, "jobs")
      out.string
    end

    def section(out, name)
      out.puts "## #{name}"
      out.puts HTTP.get("/#{name}")
    end
  RUBY

  case_of "a sum that is read before the wait and written after", source: <<~'RUBY'
    def show
      @total = 0
      add("net")
      add("tax")
      @total
    end

    def add(name)
      @total += HTTP.get("/sum/#{name}").size
    end
  RUBY

  case_of "a list made anew around the wait", source: <<~'RUBY'
    class Crumbs
      attr_reader :list

      def initialize = @list = []

      def push(path)
        @list = [*@list, HTTP.get(path)]
      end
    end

    def show
      crumbs = Crumbs.new
      crumbs.push("/home")
      crumbs.push("/shop")
      crumbs.list
    end
  RUBY

  case_of "the last one wins", source: <<~'RUBY'
    def show
      load_default_theme
      load_user_theme
      "theme: #{@theme}"
    end

    def load_default_theme
      @theme = HTTP.get("/themes/default", 0.3)
    end

    def load_user_theme
      @theme = HTTP.get("/themes/mine", 0.1)
    end
  RUBY
end
