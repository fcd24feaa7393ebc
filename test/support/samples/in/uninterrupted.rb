# frozen_string_literal: true

@count = 1
def step(count) = count + 1
NB.run do
  # SAMPLE
end
abort("counted #{@count}") unless @count == 3
