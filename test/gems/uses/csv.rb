# frozen_string_literal: true

Gems.use "csv" do
  requires "csv"
  answer do |id|
    CSV.parse("a,b\n#{id},2\n", headers: true).map { |row| Hunt.nap && row.to_h } +
      [CSV.generate { |csv| csv << [id, "x,y"] }]
  end
end
