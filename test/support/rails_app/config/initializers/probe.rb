# frozen_string_literal: true

# What the tests ask about: what initializers see, and tables without migrations.
LEVEL_SEEN_BY_INITIALIZERS = ActiveSupport::IsolatedExecutionState.isolation_level

Rails.application.config.hosts.clear
Rails.application.config.action_controller.perform_caching = true
fragments = Rails.root.join("tmp/fragments").to_s
Rails.application.config.action_controller.cache_store = :file_store, fragments
Rails.application.config.active_storage.service = :local
Rails.application.config.active_job.queue_adapter = :async
Rails.application.config.action_cable.disable_request_forgery_protection = true
Rails.application.config.secret_key_base = "0" * 64

Rails.application.config.after_initialize do
  ActiveRecord::Schema.verbose = false
  ActiveRecord::Schema.define do
    create_table(:notes, if_not_exists: true) { |t| t.string :text }
    create_table(:active_storage_blobs, if_not_exists: true) do |t|
      t.string :key, :filename, null: false
      t.string :content_type, :service_name, :checksum
      t.text :metadata
      t.bigint :byte_size, null: false
      t.datetime :created_at, null: false
      t.index :key, unique: true
    end
    create_table(:active_storage_attachments, if_not_exists: true) do |t|
      t.string :name, null: false
      t.references :record, null: false, polymorphic: true, index: false
      t.references :blob, null: false
      t.datetime :created_at, null: false
    end
    create_table(:active_storage_variant_records, if_not_exists: true) do |t|
      t.belongs_to :blob, null: false, index: false
      t.string :variation_digest, null: false
    end
  end
end
