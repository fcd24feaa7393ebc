# frozen_string_literal: true

class NoteJob < ApplicationJob
  def perform(text)
    Note.create!(text: text)
  end
end
