# frozen_string_literal: true

AdviceCases::REPEATED.add do
  case_of "the owner of each row", lines: [4], source: <<~'RUBY'
    def show
      posts = Model.where(published: true)
      posts.each do |post|
        puts_row(post.name, post.owner.name)
      end
    end

    def puts_row(*cells)
      cells.join(" ")
    end
  RUBY

  case_of "map over ids", lines: [2], source: <<~'RUBY'
    def show
      (1..6).map { |id| HTTP.get("/users/#{id}") }
    end
  RUBY

  case_of "each_with_object", lines: [3], source: <<~'RUBY'
    def show
      %w[a b c d e f].each_with_object({}) do |key, found|
        found[key] = Model.find_by(key: key)
      end
    end
  RUBY

  case_of "flat_map over has-many", lines: [2], source: <<~'RUBY'
    def show
      Model.all.flat_map { |team| team.items.map(&:name) }
    end
  RUBY

  case_of "to_h", lines: [2], source: <<~'RUBY'
    def show
      %w[eur usd chf gbp jpy].to_h { |code| [code, HTTP.get("/rates/#{code}")] }
    end
  RUBY

  case_of "a sum in inject, the call needs none of it", lines: [3], source: <<~'RUBY'
    def show
      [1, 2, 3, 4, 5, 6].inject(0) do |total, id|
        total + HTTP.get("/stock/#{id}").size
      end
    end
  RUBY

  case_of "sum", lines: [2], source: <<~'RUBY'
    def show
      Model.all.sum { |order| order.items.size }
    end
  RUBY

  case_of "an index counted by while", lines: [6], source: <<~'RUBY'
    def show
      ids = [3, 1, 4, 1, 5, 9]
      names = []
      at = 0
      while at < ids.size
        names << Model.find(ids[at]).name
        at += 1
      end
      names
    end
  RUBY

  case_of "a queue of ids is emptied", lines: [5], source: <<~'RUBY'
    def show
      waiting = [1, 2, 3, 4, 5]
      found = {}
      until waiting.empty?
        found[waiting.first] = HTTP.get("/parts/#{waiting.first}")
        waiting.shift
      end
      found
    end
  RUBY

  case_of "for", lines: [4], source: <<~'RUBY'
    def show
      list = []
      for id in 1..5
        list.push(Model.find(id))
      end
      list.size
    end
  RUBY

  case_of "zip", lines: [5], source: <<~'RUBY'
    def show
      skus = %w[a b c d e]
      counts = [1, 2, 3, 4, 5]
      skus.zip(counts).map do |sku, count|
        HTTP.get("/price?sku=#{sku}&count=#{count}")
      end
    end
  RUBY

  case_of "each_with_index and a helper", lines: [8], source: <<~'RUBY'
    def show
      rows = []
      %w[a b c d e].each_with_index { |name, at| rows << [at, badge_of(name)] }
      rows
    end

    def badge_of(name)
      HTTP.get("/badges/#{name}")
    end
  RUBY

  case_of "a partial for each item", lines: [12], source: <<~'RUBY'
    def show
      render_all(Model.where(kind: "comment"))
    end

    def render_all(comments)
      comments.map { |comment| render_comment(comment) }.join
    end

    def render_comment(comment)
      format(
        "<p>%<author>s</p>",
        author: comment.owner.name
      )
    end
  RUBY

  case_of "a presenter wraps each row", lines: [3], source: <<~'RUBY'
    class Row
      def initialize(order) = @order = order
      def buyer = @buyer ||= @order.owner
      def to_s = "#{@order.id}: #{buyer.name}"
    end

    def show
      Model.where(state: "open").map { |order| Row.new(order).to_s }
    end
  RUBY

  case_of "times", lines: [3], source: <<~'RUBY'
    def show
      days = 7.times.map do |ago|
        Model.count(day: 20_261_128 - ago)
      end
      days.max
    end
  RUBY

  case_of "slices", lines: [3], source: <<~'RUBY'
    def show
      (1..50).each_slice(10).flat_map do |ids|
        Model.where(id: ids).map(&:name)
      end
    end
  RUBY

  case_of "skipped turns", lines: [5], source: <<~'RUBY'
    def show
      Model.where(kind: "user").filter_map do |user|
        next if user.id > 90

        score = HTTP.get("/scores/#{user.id}")
        score unless score.empty?
      end
    end
  RUBY

  case_of "select asks of each", lines: [2], source: <<~'RUBY'
    def show
      Model.all.select { |user| HTTP.get("/online/#{user.id}").size > 3 }.map(&:name)
    end
  RUBY

  case_of "two waits in each turn, one after the other", lines: [3, 4], source: <<~'RUBY'
    def show
      Model.where(state: "open").map do |order|
        buyer = order.owner
        HTTP.get("/credit/#{buyer.id}")
      end
    end
  RUBY

  case_of "the turn rescues its own error", lines: [3], source: <<~'RUBY'
    def show
      %w[a b c d e].map do |host|
        HTTP.get("/status/#{host}")
      rescue IOError
        "down"
      end
    end
  RUBY

  case_of "sorted by what is asked", lines: [2], source: <<~'RUBY'
    def show
      Model.all.sort_by { |shop| HTTP.get("/distance/#{shop.id}").size }.map(&:id)
    end
  RUBY

  case_of "a hash's pairs", lines: [4], source: <<~'RUBY'
    def show
      zones = { a: 1, b: 2, c: 3, d: 4, e: 5 }
      zones.each_pair do |name, id|
        (@text ||= +"") << "#{name}: #{HTTP.get("/zones/#{id}")}\n"
      end
      @text
    end
  RUBY

  case_of "numbered SQL in a loop", lines: [4], source: <<~'RUBY'
    def show
      db = Connection.new
      1.upto(6).map do |id|
        db.exec_params(<<~SQL, [id]).first
          SELECT name FROM authors WHERE id = $1
        SQL
      end
    end
  RUBY

  case_of "nested loops", lines: [4], source: <<~'RUBY'
    def show
      %w[de fr].each_with_object([]) do |country, list|
        %w[s m l].each do |size|
          list << HTTP.get("/stock/#{country}/#{size}")
        end
      end
    end
  RUBY

  case_of "memoized in each object", lines: [4], source: <<~'RUBY'
    class Shop
      def initialize(id) = @id = id

      def stock = @stock ||= HTTP.get("/stock/#{@id}")
    end

    def show
      (1..6).map { |id| Shop.new(id) }.sum { |shop| shop.stock.size }
    end
  RUBY

  case_of "a known key is not asked for again", lines: [4], source: <<~'RUBY'
    def show
      names = {}
      [1, 2, 3, 4, 5, 1, 2].map do |id|
        names[id] ||= Model.find(id).name
      end
    end
  RUBY

  case_of "a count beside", lines: [4], source: <<~'RUBY'
    def show
      count = 0
      rows = Model.all.map do |row|
        label = HTTP.get("/label/#{row.id}")
        count += 1
        "#{count}. #{label}"
      end
      rows.join("\n")
    end
  RUBY

  case_of "grouped by an answer", lines: [2], source: <<~'RUBY'
    def show
      Model.all.group_by { |user| HTTP.get("/country/#{user.id}").size }.keys
    end
  RUBY

  case_of "the largest, kept by hand", lines: [4], source: <<~'RUBY'
    def show
      best = nil
      %w[a b c d e].each do |name|
        score = HTTP.get("/score/#{name}")
        best = score if best.nil? || score > best
      end
      best
    end
  RUBY

  case_of "a loop in a class method with a keyword", lines: [3], source: <<~'RUBY'
    class Quotes
      def self.all(symbols:)
        symbols.map { |symbol| HTTP.get("/quotes/#{symbol}") }
      end
    end

    def show
      Quotes.all(symbols: %w[A B C D E F G])
    end
  RUBY

  case_of "only some turns wait", lines: [3], source: <<~'RUBY'
    def show
      (1..12).map do |id|
        id.even? ? HTTP.get("/even/#{id}") : "odd"
      end
    end
  RUBY

  case_of "redis per row", lines: [4], source: <<~'RUBY'
    def show
      redis = Redis.new
      Model.all.to_h do |row|
        [row.id, redis.get("likes:#{row.id}")]
      end
    end
  RUBY

  case_of "the chain of each turn is its own", lines: [6], source: <<~'RUBY'
    def show
      Model.all.map { |post| summary(post) }
    end

    def summary(post)
      owner = post.owner
      team = owner.owner
      "#{post.name} #{owner.name} #{team.name}"
    end
  RUBY

  case_of "in a template", lines: [2], source: <<~'RUBY'
    require "erb"

    VIEW = "<% @posts.each do |post| %>\n<li><%= post.owner.name %></li>\n<% end %>"
    TEMPLATE = "#{File.dirname(__FILE__)}/show.html.erb"
    File.write(TEMPLATE, VIEW)
    class_eval("def view\n#{ERB.new(VIEW).src}\nend", TEMPLATE, -1)

    def show
      @posts = Model.where(state: "new")
      view
    end
  RUBY
end
