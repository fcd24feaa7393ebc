# frozen_string_literal: true

# A client that stands still with its whole machine is not ended by a timeout that its test is not
# about.
timeouts do
  header 600
  body 600
  idle 600
end
