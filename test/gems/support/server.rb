# frozen_string_literal: true

# What uses may call in the server's process.

require "logger"
require "tmpdir"
require "zlib"
require_relative "use"

module Gems
  REDIS = ENV.fetch("NB_GEMS_REDIS", nil)
  MEMCACHED = ENV.fetch("NB_GEMS_MEMCACHED", nil)
  URL = "http://127.0.0.1:#{Hunt::SERVICE}".freeze

  module_function

  # ActiveRecord with a table for what uses keep.
  # @param columns [Hash{Symbol => Symbol}] type by name
  # @return [Class] the model Item
  def records(**columns)
    require "active_record"
    connect
    ActiveRecord::Schema.verbose = false
    table(:items, name: :string, **columns)
    Object.const_set(:Item, Class.new(ActiveRecord::Base) { self.table_name = "items" })
  end

  # A further table.
  # @param id [Boolean] whether it has one
  def table(name, id: true, **columns)
    ActiveRecord::Schema.define do
      create_table(name, id: (:primary_key if id) || false, force: true) do |table|
        columns.each { |column, type| table.column(column, type) }
      end
    end
  end

  def connect
    ActiveRecord::Base.establish_connection(ENV.fetch("NB_HUNT_DATABASE"))
  end

  # A picture. The server may have no program that makes one.
  # @return [String] a PNG file
  def png(width, height)
    rows = Array.new(height) { |row| "\0".b + ([row % 256, 80, 160].pack("C3") * width) }.join
    chunks = { "IHDR" => [width, height, 8, 2, 0, 0, 0].pack("N2C5"),
               "IDAT" => Zlib.deflate(rows), "IEND" => "" }
    "\x89PNG\r\n\x1a\n".b + chunks.map { |name, data|
      [data.bytesize].pack("N") + name + data + [Zlib.crc32(name + data)].pack("N")
    }.join
  end

  # The rows exist for this request only and are gone afterwards. On threads and here, a connection
  # belongs to the request while it is in a transaction.
  def undone
    found = nil
    ActiveRecord::Base.transaction do
      found = yield
      raise ActiveRecord::Rollback
    end
    found
  ensure
    ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
  end

  # A Rails application in one piece.
  # @param middleware, frameworks [Array<String>] such as "action_controller/railtie"
  # @yield [Class] of the application, before it starts
  # @return [Rails::Application]
  def rails(*frameworks)
    require "rails"
    ["action_controller/railtie", *frameworks].each { |file| require file }
    application = Class.new(Rails::Application)
    Object.const_set(:GemsApplication, application)
    application.config.root = Dir.mktmpdir("gems")
    application.config.eager_load = true
    application.config.hosts.clear
    application.config.secret_key_base = "x" * 64
    application.config.consider_all_requests_local = true
    application.config.action_dispatch.show_exceptions = :none
    application.config.logger = Logger.new(File::NULL)
    application.config.load_defaults(7.2)
    yield application if block_given?
    application.initialize!
    application
  end

  # @param application [#call] of Rails
  # @return [#call] the same for one host, without the fields that differ from answer to answer
  def steady(application)
    lambda do |env|
      application.call(env.merge("HTTP_HOST" => "example.org")).tap do |found|
        found[1].delete("x-request-id") && found[1].delete("x-runtime")
      end
    end
  end
end
