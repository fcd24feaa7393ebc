# frozen_string_literal: true

# Loads the native part: Engine, Executor, Scheduler and the C half of Log. A precompiled gem has
# one for each version of Ruby (bin/build-gem). A checkout may not be built yet; then the error
# message names the fix.

require "rbconfig"
require "neverblock/errors"

begin
  precompiled = "../#{RUBY_VERSION[/\A\d+\.\d+/]}/neverblock.#{RbConfig::CONFIG["DLEXT"]}"
  precompiled = File.expand_path(precompiled, __dir__)
  require(File.exist?(precompiled) ? precompiled : "neverblock/neverblock")
rescue LoadError => e
  # The message names a missing dependency, or an extension built for another Ruby.
  reason = e.message.lines.first.strip
  built = e.path != "neverblock/neverblock"
  what = built ? "cannot be loaded in Ruby" : "is not built for Ruby"
  what = "#{what} #{RUBY_VERSION}#{" (#{reason})" if built}"
  raise NeverBlock::StartError, "the native part #{what}: run bin/setup in a checkout, " \
                                "or install the gem again"
end

# Folders of code that no time slice preempts, and of Ruby's own library, for which the caller's
# folder decides.
NeverBlock::Scheduler.home("#{File.expand_path("../..", __dir__)}/",
                           "#{RbConfig::CONFIG["rubylibdir"]}/",
                           "#{RbConfig::CONFIG["rubyarchdir"]}/")
