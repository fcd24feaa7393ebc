# frozen_string_literal: true

# Rails' own use of rack.early_hints, unchanged: send_early_hints, what its tag helpers preload, and
# actions that run on a thread of their own.

require "net/http"

require_relative "../support/server_process_case"

class RailsEarlyHintsTest < Minitest::Test
  APP = <<~'RACKUP'
    require "action_controller/railtie"
    class HintsApplication < Rails::Application
      config.load_defaults 7.0
      config.eager_load = true
      config.consider_all_requests_local = true
      config.secret_key_base = "x" * 64
      config.logger = Logger.new(nil)
      config.hosts.clear
      routes.append do
        get "/sent" => "hints#sent"
        get "/tags" => "hints#tags"
        get "/live" => "live#live"
      end
    end
    class HintsController < ActionController::Base
      def sent
        request.send_early_hints("link" => "</sent.css>; rel=preload; as=style")
        render plain: "sent"
      end

      def tags
        render inline: "<%= stylesheet_link_tag '/tags.css' %>"
      end
    end
    class LiveController < ActionController::Base
      include ActionController::Live
      def live
        request.send_early_hints("link" => "</live.css>; rel=preload; as=style")
        response.stream.write("live")
      ensure
        response.stream.close
      end
    end
    HintsApplication.initialize!
    run HintsApplication
  RACKUP

  [%w[-w 1], %w[-w 2]].each do |words|
    define_method("test_rails_sends_them_with #{words.join(" ")}") do
      ServerProcess.run(APP, options: ["--early-hints", *words]) do |server|
        { "/sent" => "sent", "/tags" => /tags\.css/, "/live" => "live" }.each do |path, body|
          response = server.connect { |client| client.get(path) && client.response }
          assert_equal [103], response.interim.map(&:status), path
          assert_match(%r{\A<?/#{path.delete("/")}\.css>; rel=preload; as=style},
                       response.interim.first["link"], path)
          assert_match body, response.body, path
        end
      end
    end
  end

  def test_without_the_setting_rails_sends_none
    ServerProcess.run(APP) do |server|
      assert_equal [], server.connect { |client| client.get("/sent") && client.response }.interim
    end
  end
end
