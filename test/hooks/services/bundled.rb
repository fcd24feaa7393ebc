# frozen_string_literal: true

# The gems that come with Ruby but are outside of this project's bundle (net-smtp, net-imap... since
# 3.1; csv, drb, syslog since 3.4). The rows are about the Ruby as it is installed. So the gems are
# taken from there, in its own versions, instead of being pinned.

module HookServices
  module Bundled
    ROOT = File.join(RbConfig::CONFIG["rubylibprefix"], "gems", RbConfig::CONFIG["ruby_version"])

    # Requires `feature`, of `gem` when it is not a part of the standard library any more.
    # @return [String, nil] the gem's version; nil when it came from elsewhere
    # @raise [HookTable::Unavailable] when this Ruby came without it
    def self.require(feature, gem:)
      directory = Dir.glob(File.join(ROOT, "gems", "#{gem}-[0-9]*")).max
      extensions = Dir.glob(File.join(ROOT, "extensions", "*", "*", "#{gem}-[0-9]*"))
      $LOAD_PATH.concat([*extensions, File.join(directory, "lib")] - $LOAD_PATH) if directory
      Kernel.require(feature)
      directory && File.basename(directory)[/\d[\d.]*\z/]
    rescue LoadError => e
      raise HookTable::Unavailable, "this Ruby came without #{gem} (#{e.message})"
    end
  end
end
