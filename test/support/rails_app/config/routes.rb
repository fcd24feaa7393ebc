# frozen_string_literal: true

ROUTES_FIRST_DRAWN_IN = Process.pid unless defined?(ROUTES_FIRST_DRAWN_IN)

Rails.application.routes.draw do
  get "up" => "rails/health#show"
  get "state" => "pages#state"
  get "held" => "pages#held"
  get "greeting" => "pages#greeting"
  get "modes/:action", controller: "modes"
  get "über/export" => "modes#export"
  get "exports/new" => "modes#plain"
  get "exports/:id" => "modes#export"
  get "of/:host/exports" => "modes#export",
      constraints: ->(request) { request.path_parameters[:host] == "here" }
  get "of/:host/exports" => "modes#plain"
  get "form" => "pages#form"
  post "form" => "pages#submit"
  get "streamed" => "pages#streamed"
  get "fragment" => "pages#fragment"
  get "rows" => "pages#rows"
  get "file" => "pages#file"
  get "data" => "pages#data"
  get "prompt" => "pages#prompt"
  get "breakpoint" => "pages#breakpoint"
  get "job" => "pages#job"
  get "records" => "pages#records"
  post "blobs" => "blobs#create"
  get "blobs/:id" => "blobs#show"
  get "live/:action", controller: "live"
  mount ActionCable.server => "/cable"
end
