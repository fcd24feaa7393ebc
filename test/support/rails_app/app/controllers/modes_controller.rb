# frozen_string_literal: true

class ModesController < ApplicationController
  allowblock :export, :report
  allowblock :gentle
  neverblock :gentle

  before_action { @in_filter = NeverBlock.neverblocking? }

  %i[export report gentle plain].each do |name|
    define_method(name) do
      render json: { filter: @in_filter, action: NeverBlock.neverblocking?,
                     thread: Thread.current.name }
    end
  end
end
