# frozen_string_literal: true

# Lambdas and blocks that are called by name.
AdviceCases::DEPENDENT.add do
  case_of "a lambda with two names that collects", source: <<~'RUBY'
    def show
      seen = []
      fetch = lambda do |id|
        row = HTTP.get("/#{id}?but=#{seen.join}")
        seen << row
        row
      end
      again = fetch
      a = again.(1)
      b = again.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda made of another that remembers", source: <<~'RUBY'
    def show
      last = nil
      fetch = ->(kind, id) { last = HTTP.get("/#{kind}/#{id}?after=#{last}") }
      user = fetch.curry[:user]
      a = user.(1)
      b = user.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda in a Hash that remembers", source: <<~'RUBY'
    def show
      last = nil
      calls = { get: ->(id) { last = HTTP.get("/#{id}?after=#{last}") } }
      a = calls[:get].(1)
      b = calls[:get].(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that remembers, given to a method", source: <<~'RUBY'
    def show
      last = nil
      run(->(id) { last = HTTP.get("/#{id}?after=#{last}") })
    end
    def run(fetch)
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that remembers, made by a method", source: <<~'RUBY'
    def getter
      last = nil
      ->(id) { last = HTTP.get("/#{id}?after=#{last}") }
    end
    def show
      fetch = getter
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that remembers its last answer", source: <<~'RUBY'
    def show
      last = nil
      fetch = ->(id) { last = HTTP.get("/#{id}?after=#{last}") }
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that collects its answers", source: <<~'RUBY'
    def show
      seen = []
      fetch = lambda do |id|
        row = HTTP.get("/#{id}?but=#{seen.join}")
        seen << row
        row
      end
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a variable of a lambda is set in between", source: <<~'RUBY'
    def show
      token = nil
      fetch = ->(id) { HTTP.get("/#{id}?t=#{token}") }
      a = fetch.(1)
      token = a
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a variable of a lambda with two names is set in between", source: <<~'RUBY'
    def show
      token = nil
      fetch = ->(id) { HTTP.get("/#{id}?t=#{token}") }
      other = fetch
      a = other.(1)
      token = a
      b = other.(2)
      [a, b]
    end
  RUBY

  case_of "another lambda sets a variable in between", source: <<~'RUBY'
    def show
      token = "x"
      get = ->(id) { HTTP.get("/#{id}?t=#{token}") }
      set = ->(new) { token = new }
      a = get.(1)
      set.("y")
      b = get.(2)
      [a, b]
    end
  RUBY

  case_of "a method gives a reader and a setter", source: <<~'RUBY'
    def session
      token = nil
      [->(id) { HTTP.get("/#{id}?t=#{token}") }, ->(new) { token = new }]
    end
    def show
      get, set = session
      a = get.(1)
      x = set.(a)
      b = get.(2)
      [a, b, x]
    end
  RUBY

  case_of "a lambda in a constant collects", source: <<~'RUBY'
    LAST = []
    FETCH = ->(id) { HTTP.get("/#{id}?#{LAST.last}").tap { |one| LAST << one } }
    def show
      a = FETCH.(1)
      b = FETCH.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda is replaced by one that uses the answer", source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      a = fetch.(1)
      fetch = ->(id) { HTTP.get("/#{id}?#{a}") }
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda fills the row that it is given", source: <<~'RUBY'
    def show
      fill = ->(row, key) { row[key] = HTTP.get("/#{key}?#{row.keys}") }
      row = {}
      a = fill.(row, :a)
      b = fill.(row, :b)
      [a, b, row]
    end
  RUBY

  case_of "a lambda calls one that collects", source: <<~'RUBY'
    def show
      jar = {}
      raw = ->(path) { HTTP.get("#{path}?#{jar}").tap { |one| jar[:c] = one } }
      get = ->(path) { raw.(path) }
      a = get.("/a")
      b = get.("/b")
      [a, b]
    end
  RUBY

  case_of "a block that remembers, called twice", source: <<~'RUBY'
    def twice(&block)
      a = block.call(1)
      b = block.call(2)
      [a, b]
    end
    def show
      last = nil
      twice { |id| last = HTTP.get("/#{id}?after=#{last}") }
    end
  RUBY

  case_of "a block that remembers, yielded to twice", source: <<~'RUBY'
    class Rows
      def each
        a = yield 1
        b = yield 2
        [a, b]
      end
    end
    def show
      last = nil
      Rows.new.each { |id| last = HTTP.get("/#{id}?after=#{last}") }
    end
  RUBY

  case_of "a lambda that remembers, called by send", source: <<~'RUBY'
    def show
      last = nil
      get = ->(id) { last = HTTP.get("/#{id}?#{last}") }
      a = get.public_send(:call, 1)
      b = get.public_send(:call, 2)
      [a, b]
    end
  RUBY

  case_of "a lambda that remembers, given as a block", source: <<~'RUBY'
    def show
      last = nil
      get = ->(id) { last = HTTP.get("/#{id}?#{last}") }
      first = [1].map(&get)
      second = [2].map(&get)
      [first, second]
    end
  RUBY

  case_of "a lambda that remembers in each turn", source: <<~'RUBY'
    def show
      [1, 2].map do |n|
        last = n
        get = ->(id) { last = HTTP.get("/#{id}?#{last}") }
        a = get.(1)
        b = get.(2)
        [a, b]
      end
    end
  RUBY

  case_of "a proc that returns from its method", source: <<~'RUBY'
    def show
      check = proc do |id|
        found = HTTP.get("/#{id}")
        return nil if found.empty?
        found
      end
      a = check.(1)
      b = HTTP.get("/secret")
      [a, b]
    end
  RUBY

  case_of "a lambda is given the answer of its first call", source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      a = fetch.(1)
      b = fetch.(a.size)
      [a, b]
    end
  RUBY

  case_of "a lambda is given what it gives", source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}") }
      fetch.(fetch.(1).size)
    end
  RUBY

  case_of "a lambda that posts", source: <<~'RUBY'
    def show
      send = ->(id) { HTTP.post("/#{id}") }
      a = send.(1)
      b = send.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda sets what another reads", source: <<~'RUBY'
    def show
      session = nil
      get = ->(path) { HTTP.get("#{path}?#{session}") }
      enter = ->(name) { session = get.(name) }
      a = enter.("x")
      b = get.("/y")
      [a, b]
    end
  RUBY

  case_of "a lambda that remembers in its object", source: <<~'RUBY'
    def show
      fetch = ->(id) { @page = HTTP.get("/#{id}?after=#{@page}") }
      a = fetch.(1)
      b = fetch.(2)
      [a, b]
    end
  RUBY

  case_of "a lambda that checks", source: <<~'RUBY'
    def show
      check = ->(id) { raise "no" unless HTTP.get("/#{id}").size > 2 }
      fetch = ->(id) { HTTP.get("/#{id}") }
      check.(1)
      b = fetch.(2)
      b
    end
  RUBY

  case_of "a method object that remembers", source: <<~'RUBY'
    def show
      fetch = method(:get)
      a = fetch.call(1)
      b = fetch.call(2)
      [a, b]
    end
    def get(id) = @last = HTTP.get("/#{id}?#{@last}")
  RUBY

  case_of "a lambda calls a method that remembers", source: <<~'RUBY'
    def show
      get = ->(path) { page(path) }
      a = get.("/a")
      b = get.("/b")
      [a, b]
    end
    def page(path)
      @after = HTTP.get("#{path}?#{@after}")
    end
  RUBY

  case_of "a lambda reads what its first call was kept in", source: <<~'RUBY'
    def show
      fetch = ->(id) { HTTP.get("/#{id}?#{@first}") }
      @first = fetch.(1)
      @second = fetch.(2)
      [@first, @second]
    end
  RUBY
end
