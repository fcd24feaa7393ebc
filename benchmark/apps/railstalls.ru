# frozen_string_literal: true

# Rails on PostgreSQL, as `rails new` sets it up for production, without its log. Four actions do
# not wait: a huge page, a password's digest, a blocking call of a C library, 50,000 rows as
# objects.
# A light action shows how long those hold up others.

warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"
ENV["RAILS_ENV"] = "production"
require "bcrypt"
require "fiddle"
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
    get "hello" => "actions#hello"
    get "light" => "actions#light"
    get "report" => "actions#report"
    get "password" => "actions#password"
    get "driver/:number" => "actions#driver"
    get "rows" => "actions#rows"
  end
end

# As many as an export has.
class Line < ActiveRecord::Base
  ROWS = 50_000

  def self.fill
    connection.execute("select pg_advisory_lock(1)")
    connection.create_table(:lines, if_not_exists: true) do |t|
      t.string :title
      t.integer :amount
      t.timestamps
    end
    unless exists?
      connection.execute("insert into lines (title, amount, created_at, updated_at) " \
                         "select 'Line ' || n, n, now(), now() from generate_series(1, #{ROWS}) n")
    end
  ensure
    connection.execute("select pg_advisory_unlock(1)")
  end
end

# What is measured.
class ActionsController < ActionController::Base
  REPORT = "<table><% 60_000.times do |number| %><tr><td><%= number %></td>" \
           "<td><%= \"line \#{number} & more\" %></td></tr><% end %></table>"
  # Microseconds. Stands for a driver that waits for its server in C: it releases Ruby's lock and
  # calls no hook of the scheduler.
  WAIT_US = 300_000
  WAIT = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT],
                              Fiddle::TYPE_INT, need_gvl: false)

  # What is asked until a server answers.
  def hello
    headers["content-length"] = "11"
    render plain: "Hello World"
  end

  def light
    render plain: Line.connection.select_value("select 1").to_s
  end

  def report
    render inline: REPORT
  end

  # As has_secure_password does it.
  def password
    render plain: BCrypt::Password.create("secret", cost: 12).to_s
  end

  def driver
    WAIT.call(WAIT_US)
    render plain: "waited"
  end

  def rows
    render plain: Line.all.to_a.sum(&:amount).to_s
  end
end

Measured.initialize!
Line.fill
ActiveRecord::Base.connection_handler.clear_all_connections!(:all)
run Measured
