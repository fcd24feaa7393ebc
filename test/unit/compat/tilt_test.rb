# frozen_string_literal: true

# Tilt's templates under our loop.
# Fibers of one thread that compile at once do not take each other's method.

require_relative "../../support/unit"
require "neverblock"
require "tilt"

class TiltTest < Minitest::Test
  # Gives way in the middle of compiling: where a slice may end.
  class Slow < Tilt::Template
    def prepare; end
    def precompiled_template(_locals) = "#{data.inspect}.dup"

    def bind_compiled_method(...)
      super.tap { sleep 0 }
    end
  end

  def test_two_fibers_that_compile_at_once_have_their_own_views
    views = NB.run { NB.all(*%w[one two].map { |text| -> { Slow.new { text }.render } }) }

    assert_equal %w[one two], views
  end

  def test_a_thread_beside_the_loop_is_its_own_name
    NB.run { nil }

    assert_same Thread.current, Tilt::Template::Thread.current
  end
end
