# frozen_string_literal: true

# The gems of the bundle for the children of a test process: those that Bundler has found, without Bundler. It would resolve the bundle again in each child.

require "tempfile"

module ActivatedGems
  BUNDLER = /(?:\A|\s)-r\S*bundler\/setup/

  module_function

  # Changes RUBYOPT: what it says beside Bundler stays. A child that requires Bundler itself still finds it.
  def install
    file = Tempfile.create(%w[nb-gems .rb])
    file.write(text)
    file.close
    owner = Process.pid
    at_exit { File.unlink(file.path) if Process.pid == owner }
    ENV["RUBYOPT"] = "#{ENV.fetch("RUBYOPT", "").sub(BUNDLER, "")} -r#{file.path}".strip
  end

  # @return [String] a program. Rails needs Bundler, too: the one that a child would require, known by its name, as Bundler makes itself known.
  def text
    specifications = Bundler.load.specs.to_a.reject { |one| one.source.is_a?(Bundler::Source::Path) || one.name == "bundler" }
    bundler = "Gem.loaded_specs[\"bundler\"] ||= Gem::Specification.new(\"bundler\", #{Bundler::VERSION.dump})\n"
    [bundler, *specifications.map { |one| "Gem::Specification.load(#{one.loaded_from.dump}).activate\n" }].join
  end
end
