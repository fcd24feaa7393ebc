# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/figures"
require "neverblock/watch/client"
require "neverblock/watch/document"
require "neverblock/watch/units"

# What the tests of those who watch a server share.
class WatchCase < Minitest::Test
  include NeverBlock::Watch

  def document(**changes)
    Document.new(Figures.document(**changes))
  end

  def bind(url)
    NeverBlock::Config::Bind.parse(url)
  end
end
