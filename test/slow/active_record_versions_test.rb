# frozen_string_literal: true

# The contract of the adapters with the other versions of ActiveRecord: 7.1, and on Ruby 3.2 and later 8.0 and 8.1.

require_relative "../support/gem_bundle"
require_relative "../support/records/comparison"

{ "7.1" => "3.1", "8.0" => "3.2", "8.1" => "3.2" }.each do |version, ruby|
  next if RUBY_VERSION < ruby

  name = "activerecord_#{version.delete(".")}"
  Object.const_set("ActiveRecord#{version.delete(".")}ContractTest", Class.new(RecordsComparison) do
    bundle = GemBundle.new(File.expand_path("../../gemfiles/#{name}.gemfile", __dir__), name)
    # With 8.1, whose pool closes connections that still have them, mysql2 0.5.7 itself crashes in ActiveRecord's own adapter.
    compares(version, adapters: version < "8.1" ? RecordsComparison::ADAPTERS : RecordsComparison::ADAPTERS.except("mysql2 with prepared statements")) { bundle.env }
  end)
end
