# frozen_string_literal: true

Gems.use "audited" do
  needs :postgresql
  requires "rails", "active_record", "audited"
  setup do
    Gems.records()
    texts = %i[auditable_type associated_type user_type username action comment remote_address
               request_uuid].to_h { |name| [name, :string] }
    numbers = %i[auditable_id associated_id user_id version].to_h { |name| [name, :bigint] }
    Gems.table(:audits, **texts, **numbers, audited_changes: :jsonb, created_at: :datetime)
    require "audited/audit"
    Item.audited
  end
  answer { |id|
    Gems.undone {
      Audited.audit_class.as_user(id) {
        Item.create!(name: id).tap { |item|
          Hunt.nap && item.update!(name: "#{id}!")
        }.audits.map { |audit| [audit.action, audit.username, audit.version] }
      }
    }
  }
end
