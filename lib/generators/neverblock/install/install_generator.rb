# frozen_string_literal: true

require "rails/generators/base"
require "neverblock/init/document"
require "neverblock/init/sources"

module NeverBlock
  module Generators
    # `rails generate neverblock:install`: config/neverblock.rb, from config/puma.rb where it is
    # there (as `neverblock init`).
    class InstallGenerator < ::Rails::Generators::Base
      namespace "neverblock:install"
      desc "Writes config/neverblock.rb, from the configuration of another server if there is one."

      def write_configuration
        document = Init::Document.new(Init::Sources.find(destination_root))
        create_file("config/neverblock.rb", document.text)
        document.entries(:missing).each do |entry|
          say("#{entry.place}  #{entry.text.lines.first.chomp}: #{entry.translation.note}")
        end
      end
    end
  end
end
