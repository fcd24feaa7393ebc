# frozen_string_literal: true

Gems.use "parallel" do
  requires "parallel"
  answer do |id|
    [Parallel.map(1..4, in_threads: 2) { |n| Hunt.nap && "#{id}#{n}" },
     Parallel.each(%w[a b], in_threads: 2) { Hunt.nap }]
  end
end
