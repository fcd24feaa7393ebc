# frozen_string_literal: true

Gems.use "delayed_job_active_record" do
  needs :postgresql
  requires "rails", "active_record"
  setup do
    Gems.records
    Gems.table(:delayed_jobs, priority: :integer, attempts: :integer, handler: :text,
               last_error: :text, run_at: :datetime, locked_at: :datetime, failed_at: :datetime,
               locked_by: :string, queue: :string, created_at: :datetime, updated_at: :datetime)
    require "delayed_job_active_record"
    Mailing = Struct.new(:id) { def perform = Hunt.nap }
  end
  answer do |id|
    Gems.undone do
      job = Delayed::Job.enqueue(Mailing.new(id), queue: id)
      Hunt.nap
      [job.payload_object.id, Delayed::Job.where(queue: id).count]
    end
  end
end
