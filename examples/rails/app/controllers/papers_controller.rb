# frozen_string_literal: true

class PapersController < ApplicationController
  def index
    @paper = Paper.new
    list
  end

  def show
    @paper = Paper.find(params[:id])
  end

  def create
    @paper = Paper.new(params.require(:paper).permit(:title, :pages, :file))
    return redirect_to @paper if @paper.save

    list
    render :index, status: :unprocessable_entity
  end

  # Two seconds of waiting, in which everybody else is served.
  def report
    @pages = Paper.pages_counted_slowly
  end

  # Rows leave as they are read.
  def export
    headers["Content-Type"] = "text/csv"
    self.response_body = Enumerator.new do |lines|
      lines << "title,pages\n"
      Paper.find_each { |paper| lines << "#{paper.title.tr(",", " ")},#{paper.pages}\n" }
    end
  end

  private

  def list
    @papers = Paper.with_attached_file.order(id: :desc).limit(50)
  end
end
