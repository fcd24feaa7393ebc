# frozen_string_literal: true

# The products and a day of orders, in a SQLite file that is filled when it is first opened.

require "fileutils"
require "sqlite3"

module Demo
  class Catalog
    PRODUCTS = 2_000
    KINDS = %w[kettle lamp chair clock basket].freeze
    # By the hour of the day; made up, but always the same.
    ORDERS_BY_HOUR = [41, 22, 12, 8, 10, 26, 88, 190, 342, 505, 640, 742, 790, 655, 598, 634, 702,
                      811, 930, 1_014, 905, 640, 352, 143].freeze
    # Counted up when the file's content changes: an older file is made anew.
    VERSION = 2

    SCHEMA = <<~SQL
      CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
                             weight_g INTEGER NOT NULL);
      CREATE INDEX products_kind ON products (kind);
      CREATE TABLE orders (id INTEGER PRIMARY KEY,
                           product_id INTEGER NOT NULL REFERENCES products,
                           hour INTEGER NOT NULL, cents INTEGER NOT NULL);
      CREATE INDEX orders_product ON orders (product_id);
      PRAGMA user_version = #{VERSION};
    SQL

    # @param path [String] made when it is not there
    # @return [Catalog]
    def self.open(path)
      fill(path) unless File.exist?(path) && version(path) == VERSION
      new(path)
    end

    def self.version(path)
      database = SQLite3::Database.new(path, readonly: true)
      database.get_first_value("PRAGMA user_version")
    rescue SQLite3::Exception
      nil
    ensure
      database&.close
    end
    private_class_method :version

    # Filled under another name: a file that is there is always whole.
    def self.fill(path)
      FileUtils.mkdir_p(File.dirname(path))
      unfinished = "#{path}.#{Process.pid}"
      FileUtils.rm_f(unfinished)
      database = SQLite3::Database.new(unfinished)
      database.execute_batch(SCHEMA)
      database.transaction do
        fill_products(database)
        fill_orders(database)
      end
      database.close
      File.rename(unfinished, path)
    end
    private_class_method :fill

    def self.fill_products(database)
      insert =
        database.prepare("INSERT INTO products (id, name, kind, weight_g) VALUES (?, ?, ?, ?)")
      1.upto(PRODUCTS) do |id|
        insert.execute(id, name_of(id), kind_of(id), 100 + (id * 37 % 4_900))
      end
      insert.close
    end
    private_class_method :fill_products

    # A few products sell much, most little: the square of an even spread.
    def self.fill_orders(database)
      insert = database.prepare("INSERT INTO orders (product_id, hour, cents) VALUES (?, ?, ?)")
      number = 0
      ORDERS_BY_HOUR.each_with_index do |orders, hour|
        orders.times do
          place = (number += 1) * 7_919 % 10_007 / 10_007.0
          id = 1 + (PRODUCTS * (place**2)).to_i
          insert.execute(1 + (id * 619 % PRODUCTS), hour, 490 + (id * 211 % 9_000))
        end
      end
      insert.close
    end
    private_class_method :fill_orders

    def self.name_of(id)
      "#{kind_of(id).capitalize} no. #{id}"
    end

    def self.kind_of(id)
      KINDS[id % KINDS.size]
    end

    # @return [String]
    attr_reader :path

    # One connection is enough, as SQLite answers without waiting. The lock keeps two fibers from
    # sharing it in the middle of a query.
    def initialize(path)
      @path = path
      @database = SQLite3::Database.new(path, readonly: true, results_as_hash: true)
      @lock = Mutex.new
    end

    # @return [Hash, nil]
    def find(id)
      query("SELECT id, name, kind, weight_g FROM products WHERE id = ?", id).first
    end

    # @return [Array<Hash>] how many products of each kind, and their mean weight
    def kinds
      query("SELECT kind, count(*) AS products, round(avg(weight_g)) AS weight_g " \
            "FROM products GROUP BY kind ORDER BY kind")
    end

    # @return [Array<Hash>] the products ordered most often, with how often and for how much
    def best_sellers(count)
      query(<<~SQL, count)
        SELECT products.id, name, kind, weight_g, count(*) AS orders, sum(cents) AS cents
        FROM orders JOIN products ON products.id = product_id GROUP BY products.id
        ORDER BY count(*) DESC, products.id LIMIT ?
      SQL
    end

    # @return [Array<Integer>] orders in each hour of the day
    def orders_by_hour
      counts = query("SELECT hour, count(*) AS orders FROM orders GROUP BY hour").to_h do |row|
        row.values_at("hour", "orders")
      end
      (0..23).map { |hour| counts.fetch(hour, 0) }
    end

    # @return [Hash]
    def totals
      query("SELECT count(*) AS orders, sum(cents) AS cents, " \
            "count(DISTINCT product_id) AS products FROM orders").first
    end

    private

    def query(sql, *values)
      @lock.synchronize { @database.execute(sql, values) }.map do |row|
        row.select { |key, _| key.is_a?(String) }
      end
    end
  end
end
