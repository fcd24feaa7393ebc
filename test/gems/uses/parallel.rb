# frozen_string_literal: true

Gems.use "parallel" do
  requires "parallel"
  answer { |id| [Parallel.map(1..4, in_threads: 2) { |n| Hunt.nap && "#{id}#{n}" }, Parallel.map([1, 2], in_processes: 2) { |n| n * 2 }] }
end
