# frozen_string_literal: true

# The one bound of waits for what has to happen: so long that a machine on which any thread or process may stand still for seconds is no failure, and that a bug
# fails and does not hang. Nothing may be proven by how much of it goes by.

module Patience
  SECONDS = Integer(ENV.fetch("NB_TEST_WAIT_SECONDS", "60"), 10)
end
