# GET / => 200 hello

# frozen_string_literal: true

File.write(File.join(__dir__, "app.rb"), <<~APP)
  require "sinatra"
  get("/") { "hello" }
APP

# SAMPLE
