# frozen_string_literal: true

# Calls that are given what was waited for, and keep it.
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
end
