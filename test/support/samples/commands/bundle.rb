# frozen_string_literal: true

# `bundle` of a sample: `exec` runs the words that follow, `add` has to name our gem.

case ARGV
in ["exec", *words] then exec(*words)
in ["add", "neverblock", "--git", String] then nil
else abort("bundle #{ARGV.join(" ")} is not known to samples")
end
