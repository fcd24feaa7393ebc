# frozen_string_literal: true

Gems.use "redcarpet" do
  requires "redcarpet"
  setup do
    class Page < Redcarpet::Render::HTML
      def link(link, _title, content) = Hunt.nap && "[#{content}|#{link}]"
    end
  end
  answer do |id|
    Redcarpet::Markdown.new(Page.new, tables: true).render("# #{id}\n\n[a](/#{id}) *b* [c](/2)\n")
  end
end
