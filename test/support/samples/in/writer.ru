# GET / => 200 step 9

# frozen_string_literal: true

def step(number) = "step #{number}"
run(lambda do |_env|
  # SAMPLE
end)
