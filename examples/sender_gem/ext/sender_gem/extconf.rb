# frozen_string_literal: true

# ruby extconf.rb [--with-neverblock-include=DIR]: where neverblock.h is, when it is not in the installed gem.

require "mkmf"

installed = Gem::Specification.find_all_by_name("neverblock").first
dir_config("neverblock", installed && File.join(installed.gem_dir, "ext/neverblock/include"), nil)
abort "sender_gem: neverblock.h is not found; is the gem neverblock installed?" unless have_header("neverblock.h")

create_makefile("sender_gem/sender_gem")
