# frozen_string_literal: true

Gems.use "commonmarker" do
  requires "commonmarker"
  answer { |id| CommonMarker.render_html("# #{id}\n\n* a\n* **b**\n") }
end
