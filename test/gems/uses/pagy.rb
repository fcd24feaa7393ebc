# frozen_string_literal: true

Gems.use "pagy" do
  requires "pagy"
  answer do |id|
    Pagy.new(count: 100 + id.sum, page: 2, limit: 10).then do |pagy|
      [pagy.offset, pagy.pages, pagy.next]
    end
  end
end
