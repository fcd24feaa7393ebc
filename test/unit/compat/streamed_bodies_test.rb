# frozen_string_literal: true

# Parts of Rails in an application that has not all of it.

require "open3"
require_relative "../../support/unit"

class StreamedBodiesTest < Minitest::Test
  # Haml and Kaminari load ActionView, and it ActionDispatch, but nobody ActionController.
  APPLICATION = <<~RUBY
    require "action_dispatch"
    ActionDispatch::Response::Buffer
    require "neverblock"
    NB.run { puts defined?(ActionController::Base).inspect }
  RUBY

  def test_an_application_with_action_dispatch_alone_starts
    library = File.expand_path("../../../lib", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-I", library, "-e", APPLICATION)

    assert_predicate status, :success?, output
    assert_equal "nil", output.lines.last.chomp
  end
end
