# GET / => 200 %PDF-

# frozen_string_literal: true

require "sinatra/base"

class App < Sinatra::Base
  set :host_authorization, permitted_hosts: []
  get "/" do
    # SAMPLE
  end
end
run App
