# frozen_string_literal: true

# Rails on PostgreSQL, as `rails new` sets it up for production, without its log. It has queries
# that sleep now and then (table N2), and a page of fifty rows.

warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"
ENV["RAILS_ENV"] = "production"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
# Bundler.require does this where NeverBlock is in the Gemfile.
require "neverblock" if defined?(NeverBlock)

# The application.
class Measured < Rails::Application
  config.root = File.join(__dir__, "rails")
  config.load_defaults 7.2
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = "0" * 64
  config.logger = ActiveSupport::Logger.new(nil)
  config.active_support.isolation_level = :fiber if defined?(Falcon)

  routes.append do
    get "hello" => "notes#hello"
    get "short" => "notes#short"
    get "sleep" => "notes#sleep"
    get "every/:number" => "notes#every"
    get "list" => "notes#list"
  end
end

# Fifty of them.
class Note < ActiveRecord::Base
  def self.fill
    connection.execute("select pg_advisory_lock(1)")
    connection.create_table(:notes, if_not_exists: true) do |t|
      t.string :title
      t.text :body
      t.timestamps
    end
    unless exists?
      insert_all!(Array.new(50) { |number|
        { title: "Note #{number}", body: "All there is to say, #{number} times over. " * 3 }
      })
    end
  ensure
    connection.execute("select pg_advisory_unlock(1)")
  end
end

# What is measured.
class NotesController < ActionController::Base
  prepend_view_path File.join(__dir__, "rails/app/views")
  MUTEX = Mutex.new

  # What is asked until a server answers.
  def hello
    headers["content-length"] = "11"
    render plain: "Hello World"
  end

  def short
    render plain: Note.connection.select_value("select 1").to_s
  end

  def sleep
    Note.connection.select_value("select pg_sleep(1)")
    render plain: "slept"
  end

  # One in so many sleeps.
  def every
    @@asked = MUTEX.synchronize { (defined?(@@asked) ? @@asked : 0) + 1 }
    (@@asked % params[:number].to_i).zero? ? sleep : short
  end

  def list
    @notes = Note.order(:id).limit(50)
  end
end

Measured.initialize!
Note.fill
ActiveRecord::Base.connection_handler.clear_all_connections!(:all)
run Measured
