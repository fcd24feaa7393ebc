# frozen_string_literal: true

# An application with an admin address, and further options of each class.

require_relative "server_process_case"

class AdminCase < ServerProcessCase
  class << self
    def options
      []
    end

    def server_options
      { options: ["--admin", "http://127.0.0.1:0", *options] }
    end
  end

  def setup
    skip "the admin address is NeverBlock's" unless neverblock?
  end
end
