# frozen_string_literal: true

class BlobsController < ApplicationController
  skip_forgery_protection

  def create
    note = Note.create!(text: "with paper", paper: params.require(:paper))
    path = rails_blob_path(note.paper, disposition: "attachment")
    render json: { id: note.id, path: path, bytes: note.paper.byte_size }
  end

  def show
    render plain: Note.find(params[:id]).paper.download.sum
  end
end
