# frozen_string_literal: true

require "sequel"
ENV["DATABASE_URL"] = "sqlite:/"
# SAMPLE
NB.run { DB.fetch("select 7 as number").first == { number: 7 } or abort("another answer") }
