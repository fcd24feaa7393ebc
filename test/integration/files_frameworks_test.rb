# frozen_string_literal: true

# send_file of Rails and of Sinatra, with and without the middleware that makes X-Sendfile or
# X-Accel-Redirect of it. The client gets the same, whichever way the application says it.

require "digest"

require_relative "../support/served_folder"
require_relative "../support/server_process_case"

module SendFileTests
  LARGE = Random.new(9).bytes(2_000_000).freeze

  def self.included(test_class)
    test_class.extend(Server)
  end

  module Server
    def folder
      @folder ||= ServedFolder.new("report one.pdf" => LARGE)
    end

    def server_options
      path = folder.beside("neverblock.rb")
      File.write(path, %(sendfile { roots "#{folder.path}" }\n) +
                       %(accel "/internal/", "#{folder.path}"\n))
      { options: ["-C", path], env: { "NB_TEST_FILE" => File.join(folder.path, "report one.pdf") } }
    end

    def run(...)
      super
    ensure
      @folder&.remove
      @folder = nil
    end
  end

  def test_a_file_is_sent_whole_by_the_name_and_type_it_was_given
    response = ask("/file")
    assert_equal [200, "application/pdf", LARGE.bytesize.to_s],
                 [response.status, response["content-type"], response["content-length"]]
    assert_match(/\Aattachment; filename="report.pdf"/, response["content-disposition"])
    assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(response.body)
    assert_empty(response.fields.map(&:first).grep(/\Ax-(sendfile|accel)/i))
  end

  def test_a_part_of_it_is_sent_to_who_asks_for_a_part
    response = ask("/file", "Range: bytes=1000-1999")
    assert_equal [206, "bytes 1000-1999/#{LARGE.bytesize}", LARGE[1000..1999]],
                 [response.status, response["content-range"], response.body]
  end

  def test_head_says_what_get_would
    response = ask("/file", method: "HEAD")
    assert_equal [200, "application/pdf", ""],
                 [response.status, response["content-type"], response.body]
  end

  def test_who_has_it_gets_no_second_one
    first = ask("/file")
    field =
      if first["etag"]
        "If-None-Match: #{first["etag"]}"
      else
        "If-Modified-Since: #{first["last-modified"]}"
      end
    assert_equal [304, ""], ask("/file", field).then { |response| [response.status, response.body] }
  end
end

class FilesRailsTest < ServerProcessCase
  def self.app
    <<~'RACKUP'
      ENV["RAILS_ENV"] = ENV["RACK_ENV"] = "production"
      require "action_controller/railtie"
      class FilesApp < Rails::Application
        config.eager_load = false
        config.secret_key_base = "s" * 64
        config.logger = Logger.new($stderr, level: Logger::FATAL)
        config.hosts.clear
        config.action_dispatch.x_sendfile_header = ENV["NB_TEST_SENDFILE"]
        routes.append { get "/file" => "files#show" }
      end
      class FilesController < ActionController::Base
        def show
          send_file(ENV.fetch("NB_TEST_FILE"), type: "application/pdf", filename: "report.pdf")
        end
      end
      FilesApp.initialize!
      run FilesApp
    RACKUP
  end

  include SendFileTests
end

class FilesRailsByXSendfileTest < FilesRailsTest
  def self.server_options
    super.then do |options|
      options.merge(env: options.fetch(:env).merge("NB_TEST_SENDFILE" => "X-Sendfile"))
    end
  end
end

class FilesRailsByXAccelTest < FilesRailsTest
  def self.server_options
    super.then do |options|
      options.merge(env: options.fetch(:env).merge("NB_TEST_SENDFILE" => "X-Accel-Redirect"))
    end
  end
end

class FilesSinatraTest < ServerProcessCase
  def self.app
    <<~'RACKUP'
      require "sinatra/base"
      class FilesApp < Sinatra::Base
        set :environment, :production
        get("/file") do
          send_file ENV.fetch("NB_TEST_FILE"), type: "application/pdf", filename: "report.pdf"
        end
      end
      run FilesApp
    RACKUP
  end

  include SendFileTests
end
