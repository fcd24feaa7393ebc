# frozen_string_literal: true

# Lambdas and blocks that are called by name.
AdviceCases::INDEPENDENT.add do
  case_of "a lambda called twice", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      a = fetch.(1)
      b = fetch.call(2)
      [a, b]
    end
  RUBY

  case_of "a lambda called in other ways", lines: [6, 7], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = lambda do |id|
        path = "/#{id}"
        HTTP.get(path)
      end
      a = fetch[1]
      b = fetch.yield(2)
      [a, b]
    end
  RUBY

  case_of "a lambda called twice on one line", lines: [3], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      [fetch.(1), fetch.(2)]
    end
  RUBY

  case_of "two lambdas on one line", lines: [4], saves: 0.05, source: <<~'RUBY'
    def show
      user = -> { Model.find(1) }
      rates = -> { HTTP.get("/rates") }
      { user: user.call, rates: rates.call }
    end
  RUBY

  case_of "a lambda and its calls on one line", lines: [2], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }; a = fetch.(1); b = fetch.call(2); [a, b]
    end
  RUBY

  case_of "a lambda whose answers the object keeps", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      @a = fetch.(1)
      @b = fetch.(2)
      [@a, @b]
    end
  RUBY

  case_of "a lambda with a list of its own", lines: [7, 8], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = lambda do |id|
        parts = []
        parts << id
        HTTP.get("/#{parts.join}")
      end
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a proc called twice", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = proc { |id| HTTP.get("/#{id}") }
      a = fetch.call(1)
      b = fetch.call(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that calls another", lines: [4, 5], saves: 0.1, source: <<~'RUBY'
    def show
      raw = ->(path) { HTTP.get(path) }
      get = ->(path) { raw.("/x#{path}") }
      a = get.("/a")
      b = get.("/b")
      [a, b]
    end
  RUBY

  case_of "a lambda made in each turn", lines: [4, 5], saves: 0.2, source: <<~'RUBY'
    def show
      [1, 2].map do |n|
        get = ->(id) { HTTP.get("/#{id}?#{n}") }
        a = get.(1)
        b = get.(2)
        [a, b]
      end
    end
  RUBY

  case_of "a block yielded to twice", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    class Rows
      def each
        a = yield 1
        b = yield 2
        [a, b]
      end
    end
    def show
      Rows.new.each { |id| HTTP.get("/#{id}") }
    end
  RUBY

  case_of "a lambda given to a method", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    def show
      run(->(id) { HTTP.get("/#{id}") })
    end
    def run(fetch)
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that is replaced at first", lines: [4, 5], saves: 0.1, source: <<~'RUBY'
    def show
      fetch = ->(id) { id }
      fetch = ->(id) { HTTP.get("/#{id}") }
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda in a constant", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    FETCH = ->(id) { HTTP.get("/#{id}") }
    def show
      a = FETCH.(1)
      b = FETCH.(2)
      [a, b]
    end
  RUBY

  case_of "a parser that is given each", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      parser = Struct.new(:last) { def parse(text) = text.size }.new
      a = parser.parse(HTTP.get("/a"))
      b = parser.parse(HTTP.get("/b"))
      [a, b]
    end
  RUBY

  case_of "a cache's method that is called read", lines: [3, 4], saves: 0.02, source: <<~'RUBY'
    def show
      cache = Cache.new
      a = cache.read("a")
      b = cache.read("b")
      [a, b]
    end
  RUBY

  case_of "a Hash that is merged into others", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      query = { page: 1 }
      a = HTTP.get(query.merge(kind: "a"))
      b = HTTP.get(query.merge(kind: "b"))
      [a, b]
    end
  RUBY

  case_of "pages in a gem's transaction", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    class Order < Record
      def before_save
        a = HTTP.get("/a")
        b = HTTP.get("/b")
        [a, b]
      end
    end
    def show
      Order.new.save
    end
  RUBY
end
