# frozen_string_literal: true

Gems.use "audited" do
  needs :postgresql
  requires "rails", "active_record", "audited"
  setup do
    Gems.records()
    ActiveRecord::Schema.define do
      create_table(:audits, force: true) do |t|
        %i[auditable_type associated_type user_type username action comment remote_address request_uuid].each { |name| t.string(name) }
        %i[auditable_id associated_id user_id version].each { |name| t.bigint(name) }
        t.jsonb(:audited_changes) && t.datetime(:created_at)
      end
    end
    require "audited/audit"
    Item.audited
  end
  answer { |id| Gems.undone { Audited.audit_class.as_user(id) { Item.create!(name: id).tap { |item| Hunt.nap && item.update!(name: "#{id}!") }.audits.map { |audit| [audit.action, audit.username, audit.version] } } } }
end
