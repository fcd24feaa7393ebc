# frozen_string_literal: true

Gems.use "pg_search" do
  needs :postgresql
  requires "active_record", "pg_search"
  setup do
    Gems.records()
    Item.include(PgSearch::Model) && Item.pg_search_scope(:found, against: :name)
  end
  answer { |id| Gems.undone { Item.create!(name: "word #{id}") && Item.found(id).map(&:name) } }
end
