# frozen_string_literal: true

Gems.use "acts_as_tenant" do
  needs :postgresql
  requires "rails", "active_record", "acts_as_tenant"
  setup do
    Gems.records(tenant_id: :bigint)
    Gems.table(:tenants, name: :string)
    Tenant = Class.new(ActiveRecord::Base) { self.table_name = "tenants" }
    Item.acts_as_tenant(:tenant, class_name: "Tenant")
  end
  answer do |id|
    Gems.undone do
      tenant = Tenant.create!(name: id)
      ActsAsTenant.with_tenant(tenant) do
        Item.create!(name: id)
        Hunt.nap
        [Item.pluck(:name), ActsAsTenant.current_tenant.name]
      end
    end
  end
end
