# frozen_string_literal: true

class HuntRow < ApplicationRecord
  validates :number, numericality: true
  after_find { StallsHunt::Work.spin(5) }

  def twice
    number * 2
  end
end
