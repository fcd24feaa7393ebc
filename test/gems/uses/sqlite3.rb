# frozen_string_literal: true

Gems.use "sqlite3" do
  requires "sqlite3"
  answer do |id|
    database = SQLite3::Database.new(":memory:")
    database.create_function("twice", 1) { |function, text| Hunt.nap && function.result = text * 2 }
    [database.execute("select twice(?)", [id]),
     database.prepare("select ?").execute(id).to_a].tap { database.close }
  end
end
