# frozen_string_literal: true

# The next primary key of each table becomes TABLE * 1,000,000 + 500,001, so that {Alike} can tell
# keys from other numbers.

connection = ActiveRecord::Base.connection
connection.tables.sort.each.with_index(1) do |table, number|
  first = (number * 1_000_000) + 500_001
  key = connection.columns(table).find { |column| column.name == connection.primary_key(table) }
  next unless key&.type == :integer

  case connection.adapter_name
  when "PostgreSQL" then connection.set_pk_sequence!(table, first - 1)
  when "SQLite"
    connection.execute("DELETE FROM sqlite_sequence WHERE name = '#{table}'")
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('#{table}', #{first - 1})")
  else connection.execute("ALTER TABLE `#{table}` AUTO_INCREMENT = #{first}")
  end
end
