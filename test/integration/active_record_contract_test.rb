# frozen_string_literal: true

# NeverBlock's adapters behave as ActiveRecord's own do. Here with the ActiveRecord of the bundle;
# test/slow has 7.1, 8.0 and 8.1.

require_relative "../support/records/comparison"

class ActiveRecordContractTest < RecordsComparison
  compares("7.2") do
    { "BUNDLE_GEMFILE" => ENV["BUNDLE_GEMFILE"] || File.expand_path("../../Gemfile", __dir__) }
  end
end
