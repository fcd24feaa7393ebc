# frozen_string_literal: true

# Objects that calls change: by what they are given, or because they take from them.
AdviceCases::DEPENDENT.add do
  case_of "a method that is given what was found keeps it", source: <<~'RUBY'
    class Cart
      def load_from(text)
        @items = text.chars
      end
      def tax
        HTTP.get("/tax/#{@items.size}")
      end
    end
    def show
      cart = Cart.new
      order = cart.load_from(HTTP.get("/cart"))
      tax = cart.tax
      [order, tax]
    end
  RUBY

  case_of "a method that is given what was found counts it", source: <<~'RUBY'
    class Cart
      def add_up(text)
        @sum += text.size
      end
      def tax
        HTTP.get("/tax/#{@sum}")
      end
      def initialize
        @sum = 0
      end
    end
    def show
      cart = Cart.new
      order = cart.add_up(HTTP.get("/cart"))
      tax = cart.tax
      [order, tax]
    end
  RUBY

  case_of "a library's object that is given what was found", source: <<~'RUBY'
    require "set"
    def show
      ids = Set.new
      n = ids.merge(Model.pluck(:id)).size
      list = Model.where(id: ids)
      [n, list]
    end
  RUBY

  case_of "delete_at takes from a list", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = [1, 2, 3]
      a = Model.find(from.delete_at(0))
      b = Model.find(from.delete_at(0))
      [a, b]
    end
  RUBY

  case_of "next of an enumerator", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = [1, 2, 3].each
      a = Model.find(from.next)
      b = Model.find(from.next)
      [a, b]
    end
  RUBY

  case_of "gets of a text", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = StringIO.new("1\n2\n")
      a = Model.find(from.gets)
      b = Model.find(from.gets)
      [a, b]
    end
  RUBY

  case_of "read of a text's bytes", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = StringIO.new("12")
      a = Model.find(from.read(1))
      b = Model.find(from.read(1))
      [a, b]
    end
  RUBY

  case_of "deq of a queue", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = Thread::Queue.new([1, 2])
      a = Model.find(from.deq)
      b = Model.find(from.deq)
      [a, b]
    end
  RUBY

  case_of "each_line of a text", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = StringIO.new("1\n2\n")
      a = Model.find(from.each_line.first)
      b = Model.find(from.each_line.first)
      [a, b]
    end
  RUBY

  case_of "delete? of a set", source: <<~'RUBY'
    require "set"
    require "stringio"
    def show
      from = Set[1, 2]
      a = Model.find(from.delete?(1))
      b = Model.find(from.delete?(1))
      [a, b]
    end
  RUBY

  case_of "queries in a callback that a gem calls in its transaction", source: <<~'RUBY'
    class Order < Record
      def before_save
        total = Model.sum(:price)
        paid = Model.count
        [total, paid]
      end
    end
    def show
      Order.new.save
    end
  RUBY

  case_of "requests that other methods make", source: <<~'RUBY'
    module Pay
      H = NetHTTP.new
      def self.request_for(o) = NetHTTP::Post.new("/charge/#{o}")
      def self.of(o)
        H.request(request_for(o))
      end
    end
    module Stock
      H = NetHTTP.new
      def self.request_for(o) = NetHTTP::Post.new("/book/#{o}")
      def self.of(o)
        H.request(request_for(o))
      end
    end
    def show
      paid = Pay.of(1)
      booked = Stock.of(1)
      [paid, booked]
    end
  RUBY

  case_of "the method of HTTP is a constant", source: <<~'RUBY'
    module Api
      VERB = :post
      def self.tell(path) = RestClient.execute(method: VERB, url: path)
    end
    def show
      a = Api.tell("/charge")
      b = Api.tell("/ship")
      [a, b]
    end
  RUBY

  case_of "names of one word that say what they do", source: <<~'RUBY'
    module Pay
      H = NetHTTP.new
      def self.charge(order) = H.request(NetHTTP::Get.new("/charge/#{order}"))
      def self.notify(order) = H.request(NetHTTP::Get.new("/notify/#{order}"))
    end
    def show
      paid = Pay.charge(1)
      told = Pay.notify(1)
      [paid, told]
    end
  RUBY

  case_of "super hands on a parameter that was found", source: <<~'RUBY'
    class Parent
      def lookup(id)
        HTTP.get("/r/#{id}")
      end
    end
    class Child < Parent
      def lookup(id)
        id = Model.find(id).id
        super
      end
    end
    def show
      Child.new.lookup(3)
    end
  RUBY

  case_of "super between the two hands on a parameter that was found", source: <<~'RUBY'
    class Parent
      def path(id) = "/r/#{id}"
    end
    class Child < Parent
      def path(id)
        id = Model.find(id).id
        name = super
        HTTP.get(name)
      end
    end
    def show
      Child.new.path(3)
    end
  RUBY
end
