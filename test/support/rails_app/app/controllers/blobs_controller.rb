# frozen_string_literal: true

class BlobsController < ApplicationController
  skip_forgery_protection

  def create
    note = Note.create!(text: "with paper", paper: params.require(:paper))
    render json: { id: note.id, path: rails_blob_path(note.paper, disposition: "attachment"), bytes: note.paper.byte_size }
  end

  def show
    render plain: Note.find(params[:id]).paper.download.sum
  end
end
