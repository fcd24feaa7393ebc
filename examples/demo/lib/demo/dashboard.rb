# frozen_string_literal: true

# The shop's dashboard: three queries of SQLite, and three slow services for each of the
# best-selling products, all asked at once.

require "neverblock"
require_relative "clock"

module Demo
  class Dashboard
    include Clock

    PRODUCTS = 6

    def initialize(suppliers:, catalog:)
      @suppliers = suppliers
      @catalog = catalog
    end

    # Parks for as long as the slowest answer takes. A service that does not answer leaves its
    # places empty and is named in "missing".
    # @return [Hash{String => Object}]
    def to_h
      began = now
      products = @catalog.best_sellers(PRODUCTS)
      calls = products.product(Suppliers::DELAYS_S.keys)
      missing = []
      answers = NB.all(*calls) { |product, service| ask(product, service, missing) }
      { "totals" => @catalog.totals, "hours" => @catalog.orders_by_hour,
        "products" => merge(products, calls.zip(answers)), "missing" => missing.uniq,
        "calls" => calls.size,
        "one_by_one_s" => (Suppliers::DELAYS_S.values.sum * products.size).round(1),
        "seconds" => (now - began).round(3) }
    end

    private

    def ask(product, service, missing)
      @suppliers.ask(service, product["id"])
    rescue Suppliers::Unavailable
      missing << service
      nil
    end

    def merge(products, answers)
      products.map do |product|
        own = answers.select { |(asked, _), _| asked == product }
        product.merge(own.to_h { |(_, service), answer| [service, answer] })
      end
    end
  end
end
