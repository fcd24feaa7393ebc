# frozen_string_literal: true

Gems.use "liquid" do
  requires "liquid"
  setup { TEMPLATE = "{% for n in list %}{{ n | plus: 1 }}-{{ id }} {% endfor %}" }
  answer { |id| Liquid::Template.parse(TEMPLATE).render("id" => id, "list" => (1..20).to_a) }
end
