# frozen_string_literal: true

Gems.use "ros-apartment" do
  needs :postgresql
  requires "rails", "active_record", "active_record/railtie", "apartment"
  setup do
    Gems.records
    Apartment.configure do |config|
      config.tenant_names = %w[one two]
      config.use_schemas = true
      config.excluded_models = []
    end
    Apartment.connection.execute("create schema one; create schema two; " \
                                 "create table one.items as select 'one' as name; " \
                                 "create table two.items as select 'two' as name")
  end
  answer do |id|
    Apartment::Tenant.switch(%w[one two][id.sum % 2]) do
      Hunt.nap
      [Apartment::Tenant.current,
       ActiveRecord::Base.connection.select_value("select name from items")]
    end
  ensure
    ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
  end
end
