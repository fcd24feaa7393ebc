# frozen_string_literal: true

# The gems of the bundle for the children of a test process: those that Bundler has found, without
# Bundler. It would resolve the bundle again in each child.

require "tempfile"

module ActivatedGems
  BUNDLER = /(?:\A|\s)-r\S*bundler\/setup/

  module_function

  # Changes RUBYOPT: what it says beside Bundler stays. GEM_PATH, which Bundler has emptied, is
  # where Bundler itself is found.
  def install
    file = Tempfile.create(%w[nb-gems .rb])
    file.write(text)
    file.close
    owner = Process.pid
    at_exit { File.unlink(file.path) if Process.pid == owner }
    ENV["GEM_PATH"] = Gem.default_path.join(File::PATH_SEPARATOR)
    ENV["RUBYOPT"] = "#{ENV.fetch("RUBYOPT", "").sub(BUNDLER, "")} -r#{file.path}".strip
  end

  # @return [String] a program. Rails needs Bundler, too: the one that a child would require.
  def text
    specifications = Bundler.load.specs.to_a.reject do |one|
      one.source.is_a?(Bundler::Source::Path) || one.name == "bundler"
    end
    activations = specifications.map do |one|
      "Gem::Specification.load(#{one.loaded_from.dump}).activate\n"
    end
    ["gem \"bundler\", \"= #{Bundler::VERSION}\"\n", *activations].join
  end
end
