# frozen_string_literal: true

# The products, in a SQLite file that is filled when it is first opened.

require "fileutils"
require "sqlite3"

module Demo
  class Catalog
    PRODUCTS = 2_000
    KINDS = %w[kettle lamp chair clock basket].freeze

    SCHEMA = <<~SQL
      CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, weight_g INTEGER NOT NULL);
      CREATE INDEX products_kind ON products (kind);
    SQL

    # @param path [String] made when it is not there
    # @return [Catalog]
    def self.open(path)
      fill(path) unless File.exist?(path)
      new(path)
    end

    # Filled under another name: a file that is there is always whole.
    def self.fill(path)
      FileUtils.mkdir_p(File.dirname(path))
      unfinished = "#{path}.#{Process.pid}"
      database = SQLite3::Database.new(unfinished)
      database.execute_batch(SCHEMA)
      database.transaction do
        insert = database.prepare("INSERT INTO products (id, name, kind, weight_g) VALUES (?, ?, ?, ?)")
        1.upto(PRODUCTS) { |id| insert.execute(id, name_of(id), kind_of(id), 100 + (id * 37 % 4_900)) }
        insert.close
      end
      database.close
      File.rename(unfinished, path)
    end
    private_class_method :fill

    def self.name_of(id)
      "#{kind_of(id).capitalize} no. #{id}"
    end

    def self.kind_of(id)
      KINDS[id % KINDS.size]
    end

    # @return [String]
    attr_reader :path

    # One connection: SQLite answers without waiting, and the lock keeps two fibers from sharing it in the middle of a query.
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
      query("SELECT kind, count(*) AS products, round(avg(weight_g)) AS weight_g FROM products GROUP BY kind ORDER BY kind")
    end

    private

    def query(sql, *values)
      @lock.synchronize { @database.execute(sql, values) }.map { |row| row.select { |key, _| key.is_a?(String) } }
    end
  end
end
