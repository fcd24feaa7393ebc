# frozen_string_literal: true

Gems.use "rolify" do
  needs :postgresql
  requires "active_record", "rolify"
  setup do
    Gems.records()
    Gems.table(:roles, name: :string, resource_type: :string, resource_id: :bigint)
    Gems.table(:items_roles, id: false, item_id: :bigint, role_id: :bigint)
    Object.const_set(:Role, Class.new(ActiveRecord::Base) { self.table_name = "roles" })
    Role.has_and_belongs_to_many(:items, join_table: :items_roles)
    Item.extend(Rolify) && Item.rolify(role_cname: "Role", role_join_table_name: "items_roles")
  end
  answer do |id|
    Gems.undone {
      Item.create!(name: id).then { |item|
        item.add_role("r-#{id}") && Hunt.nap && [item.has_role?("r-#{id}"), item.roles.map(&:name)]
      }
    }
  end
end
