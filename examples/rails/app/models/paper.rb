# frozen_string_literal: true

# A paper somebody handed in: a title, and the file.
class Paper < ApplicationRecord
  has_one_attached :file

  validates :title, presence: true, length: { maximum: 100 }
  validates :pages, numericality: { only_integer: true, in: 1..10_000 }

  # The slow report: what takes the database two seconds.
  def self.pages_counted_slowly(seconds = 2)
    if connection.adapter_name == "PostgreSQL"
      return connection.select_value("select coalesce(sum(pages), 0) " \
                                     "from papers, pg_sleep(#{Integer(seconds)})").to_i
    end

    # SQLite has no sleep, and a query that computes keeps its process: docs/guides/sqlite.md
    sleep(seconds)
    sum(:pages)
  end
end
