# frozen_string_literal: true

class ModesController < ApplicationController
  allowblock :export, :report
  allowblock :hold
  allowblock :gentle
  neverblock :gentle

  before_action { @in_filter = NeverBlock.neverblocking? }

  INSIDE = Queue.new

  # How many requests are in this action together, from when it lets go.
  def hold
    INSIDE << true
    wait_at
    inside = INSIDE.size
    INSIDE.pop
    render json: { inside: inside, thread: Thread.current.name }
  end

  %i[export report gentle plain].each do |name|
    define_method(name) do
      render json: { filter: @in_filter, action: NeverBlock.neverblocking?,
                     thread: Thread.current.name }
    end
  end
end
