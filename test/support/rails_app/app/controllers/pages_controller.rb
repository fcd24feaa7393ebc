# frozen_string_literal: true

class PagesController < ApplicationController
  def state
    render json: {
      level: ActiveSupport::IsolatedExecutionState.isolation_level,
      initializers: LEVEL_SEEN_BY_INITIALIZERS,
      pid: Process.pid,
      env: Rails.env,
      drawn_in: ROUTES_FIRST_DRAWN_IN,
      thread: Thread.current.name,
      loaded: Rails.application.config.eager_load,
      reloads: Rails.application.reloader.check!
    }
  end

  def held
    before = Current.user
    wait_at
    render json: { before: before, after: Current.user }
  end

  # What a class says before and after the wait.
  def greeting
    before = Greeting
    wait_at if params[:port]
    render json: { text: Greeting::TEXT, same: before.equal?(Greeting),
                   helper: helpers.respond_to?(:form_with) }
  end

  def form
  end

  def submit
    note = Note.create!(text: params.require(:note)[:text])
    redirect_to "/form?saved=#{note.id}"
  end

  def streamed
    render stream: true
  end

  # Made once, for all processes.
  def fragment
  end

  # Rows that come as they are made; the second when the gate opens.
  def rows
    headers["Content-Type"] = "text/csv"
    self.response_body = Enumerator.new do |rows|
      rows << "1,one\n"
      wait_at
      rows << "2,two\n"
    end
  end

  def file
    send_file Rails.root.join("config.ru"), type: "text/plain", disposition: "inline"
  end

  def data
    send_data "abc" * 100_000, filename: "data.bin"
  end

  def job
    NoteJob.perform_later(params[:text])
    head :accepted
  end

  def records
    render json: Note.where(text: params[:text]).count
  end

  # Somebody sits at a prompt.
  def prompt
    binding.irb # rubocop:disable Lint/Debugger -- that is what is tested
    render plain: "went on"
  end

  # Somebody has left a breakpoint.
  def breakpoint
    word = params[:user].upcase
    debugger # rubocop:disable Lint/Debugger -- that is what is tested
    word = word.reverse
    render plain: "#{word} went on"
  end
end
