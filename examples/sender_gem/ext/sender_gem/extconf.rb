# frozen_string_literal: true

# Usage: ruby extconf.rb [--with-neverblock-include=DIR]. DIR holds neverblock.h when the gem is not
# installed.

require "mkmf"

installed = Gem::Specification.find_all_by_name("neverblock").first
dir_config("neverblock", installed && File.join(installed.gem_dir, "ext/neverblock/include"), nil)
unless have_header("neverblock.h")
  abort "sender_gem: neverblock.h is not found; is the gem neverblock installed?"
end

create_makefile("sender_gem/sender_gem")
