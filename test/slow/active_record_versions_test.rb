# frozen_string_literal: true

# Tests the contract of the adapters with the other versions of ActiveRecord: 7.1, and 8.0 and 8.1
# on Ruby 3.2 and later.

require_relative "../support/gem_bundle"
require_relative "../support/records/comparison"

{ "7.1" => "3.1", "8.0" => "3.2", "8.1" => "3.2" }.each do |version, ruby|
  next if RUBY_VERSION < ruby

  name = "activerecord_#{version.delete(".")}"
  Object.const_set("ActiveRecord#{version.delete(".")}ContractTest", Class.new(RecordsComparison) do
    bundle = GemBundle.new(File.expand_path("../../gemfiles/#{name}.gemfile", __dir__), name)
    # The pool of 8.1 closes connections that still have prepared statements. mysql2 0.5.7 crashes
    # then, in ActiveRecord's own adapter too.
    adapters = RecordsComparison::ADAPTERS
    adapters = adapters.except("mysql2 with prepared statements") unless version < "8.1"
    compares(version, adapters: adapters) { bundle.env }
  end)
end
