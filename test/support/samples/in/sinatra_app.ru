# GET / => 200 hello

# frozen_string_literal: true

# SAMPLE

run Sinatra::Application
