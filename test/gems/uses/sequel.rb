# frozen_string_literal: true

Gems.use "sequel" do
  needs :postgresql
  requires "sequel"
  setup do
    url = ENV.fetch("NB_HUNT_DATABASE").sub("postgresql:", "postgres:").sub(/\?.*/, "")
    DATABASE = Sequel.connect(url, max_connections: 5, pool_timeout: 60)
    DATABASE.create_table!(:items) { column(:id, :serial, primary_key: true) }
    DATABASE.add_column(:items, :name, String)
    Entry = Class.new(Sequel::Model(:items)) { define_method(:before_save) { Hunt.nap && super() } }
  end
  answer do |id|
    DATABASE.transaction(rollback: :always) do
      Entry.create(name: id) &&
        [Entry.where(name: id).count, DATABASE[:items].where(name: id).map(:name)]
    end
  end
end
