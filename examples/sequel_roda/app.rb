# frozen_string_literal: true

# A reading list: Roda, Sequel, one table. It knows nothing of fibers. The line with `extension`
# below only names what NeverBlock does by itself.

require "json"
require "roda"
require "sequel"

Sequel.extension :neverblock

DB = Sequel.connect(ENV.fetch("DATABASE_URL") { "sqlite://#{File.join(__dir__, "books.db")}" },
                    max_connections: 12)
# Otherwise two transactions that read and then write would refuse each other.
DB.transaction_mode = :immediate if DB.database_type == :sqlite
DB.create_table?(:books) do
  primary_key :id
  String :title, null: false
  Integer :stars, null: false, default: 0
end

class Book < Sequel::Model
  plugin :validation_helpers
  plugin :json_serializer

  def validate
    super
    validates_presence :title
    validates_max_length 200, :title
  end
end

class ReadingList < Roda
  plugin :render, views: File.join(__dir__, "views"), escape: true
  plugin :json, classes: [Array, Hash, Book]
  plugin :error_handler do |error|
    raise error unless error.is_a?(Sequel::ValidationFailed)

    response.status = 422
    { error: error.message }
  end

  route do |r|
    r.root { view(:index, locals: { books: Book.order(:id).all }) }

    r.on "books" do
      r.is do
        r.get { Book.order(:id).all }
        r.post do
          book = Book.create(title: r.params["title"].to_s.strip)
          r.redirect "/" if r.env["HTTP_ACCEPT"].to_s.include?("text/html")
          book
        end
      end

      r.is Integer do |id|
        book = Book[id] or next
        r.get { book }
      end

      # Read, think, write: the fiber keeps its connection for the whole of the transaction.
      r.post Integer, "stars" do |id|
        DB.transaction do
          book = Book.for_update.first(id: id) or next
          book.update(stars: book.stars + 1)
        end
      end
    end

    # A report that takes its time in the database; everybody else is served meanwhile.
    r.get "report" do
      DB.get(Sequel.function(:pg_sleep, 1)) if DB.database_type == :postgres
      { books: Book.count, stars: Book.sum(:stars).to_i }
    end
  end
end
