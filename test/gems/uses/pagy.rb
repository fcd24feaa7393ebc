# frozen_string_literal: true

Gems.use "pagy" do
  requires "pagy"
  answer { |id| Pagy.new(count: 100 + id.sum, page: 2, limit: 10).then { |pagy| [pagy.offset, pagy.pages, pagy.next] } }
end
