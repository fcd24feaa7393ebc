# frozen_string_literal: true

# Whatever ActiveRecord's adapters do, ours do: with the ActiveRecord of the bundle here, with 7.1, 8.0 and 8.1 in test/slow.

require_relative "../support/records/comparison"

class ActiveRecordContractTest < RecordsComparison
  compares("7.2") { { "BUNDLE_GEMFILE" => ENV["BUNDLE_GEMFILE"] || File.expand_path("../../Gemfile", __dir__) } }
end
