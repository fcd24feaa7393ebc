# frozen_string_literal: true

# As in development the first request loads ActiveRecord and ActiveJob. Only then does GoodJob find
# out whether this process is a web server, which runs the jobs of `:async`.
Gems.use "good_job" do
  needs :postgresql
  requires "rails", "active_record/railtie", "active_job/railtie", "good_job"
  setup do
    ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
    Gems.rails do |application|
      application.config.eager_load = false
      application.config.active_job.queue_adapter = :good_job
      application.config.good_job.execution_mode = :async
    end
    FIRST = Mutex.new
    MADE = []
    def Gems.jobs
      records(process: :integer)
      folder = Gem.loaded_specs.fetch("good_job").full_gem_path
      name = "lib/generators/good_job/templates/install/migrations/create_good_jobs.rb.erb"
      ActiveRecord::Migration.verbose = false
      text = File.read(File.join(folder, name)).sub("<%= migration_version %>", "[7.2]")
      File.write(path = File.join(Dir.mktmpdir("gems"), "good_jobs.rb"), text)
      require path
      CreateGoodJobs.migrate(:up)
      Object.const_set(:Work, Class.new(ActiveJob::Base))
      Work.define_method(:perform) { |id| Item.create!(name: id, process: Process.pid) }
    end
  end
  answer do |id|
    FIRST.synchronize { MADE << Gems.jobs if MADE.empty? }
    Work.perform_later(id)
    ends = Time.now + 10
    sleep(0.02) until (row = Item.uncached { Item.find_by(name: id) }) || Time.now > ends
    [row ? row.process == Process.pid : "no process has run it"]
  ensure
    ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
  end
end
