# frozen_string_literal: true

Rails.application.routes.draw do
  get "up" => "rails/health#show"
  get "report" => "papers#report"
  get "papers.csv" => "papers#export", as: :papers_csv
  resources :papers, only: %i[index show create]
  root "papers#index"
end
