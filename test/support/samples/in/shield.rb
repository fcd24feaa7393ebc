# frozen_string_literal: true

# A transfer that waits in the middle, and a deadline that passes meanwhile.

DONE = []
def from = :a
def to = :b

def transfer(*sides)
  DONE << sides
  sleep(0.02)
  DONE << :whole
end

NB.run do
  NB.deadline(0.001) do
    # SAMPLE
    sleep(0.02)
  end
rescue NB::DeadlineExceeded
  abort("the transfer was cut: #{DONE}") unless DONE.last == :whole
else
  abort("the deadline was lost")
end
