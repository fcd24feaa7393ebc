# frozen_string_literal: true

module UnchangedHunt
  # What fibers change and the guide says so: the habits that show it together, and where it stands. Programs that have them all are left out.
  KNOWN = {
  }.freeze
end
