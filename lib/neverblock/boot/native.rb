# frozen_string_literal: true

# Loads the C half: Engine, Executor, Scheduler and the native part of Log. In a checkout it may not be built yet, which deserves a better line than
# "cannot load such file".

require "neverblock/errors"

begin
  require "neverblock/neverblock"
rescue LoadError => e
  # A file it needs itself, or one built for another Ruby, is named in the message.
  what = e.path == "neverblock/neverblock" ? "is not built for Ruby #{RUBY_VERSION}" : "does not load in Ruby #{RUBY_VERSION} (#{e.message.lines.first.strip})"
  raise NeverBlock::StartError, "the native part #{what}: run bin/setup in a checkout, or install the gem again"
end

require "rbconfig"

# Where code lies that no time slice ends in, and Ruby's own, where whoever has called it decides.
NeverBlock::Scheduler.home("#{File.expand_path("../..", __dir__)}/", "#{RbConfig::CONFIG["rubylibdir"]}/",
                           "#{RbConfig::CONFIG["rubyarchdir"]}/")
