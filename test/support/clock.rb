# frozen_string_literal: true

require "neverblock"

# A clock that stands until it is told, in the place of NeverBlock::Deadline.now.
class Clock
  attr_accessor :now

  def self.rule
    clock = new
    clock.now = 100.0
    real = NeverBlock::Deadline.method(:now)
    silent { NeverBlock::Deadline.define_singleton_method(:now) { clock.now } }
    yield clock
  ensure
    silent { NeverBlock::Deadline.define_singleton_method(:now, real) }
  end

  def self.silent
    verbose, $VERBOSE = $VERBOSE, nil
    yield
  ensure
    $VERBOSE = verbose
  end
end
