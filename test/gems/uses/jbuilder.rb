# frozen_string_literal: true

Gems.use "jbuilder" do
  requires "active_support", "jbuilder"
  answer do |id|
    Jbuilder.encode { |json| json.id(id) && json.list([1, 2]) { |n| Hunt.nap && json.n(n) } }
  end
end
