# frozen_string_literal: true

Gems.use "slim" do
  requires "slim"
  setup { PAGE = Slim::Template.new { "p = id\n- 3.times do |n|\n  b = nap(n)\n" } }
  answer do |id|
    PAGE.render(Object.new.tap { |it| it.define_singleton_method(:nap) { |n| Hunt.nap && n } },
                id: id)
  end
end
