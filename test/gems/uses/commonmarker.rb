# frozen_string_literal: true

Gems.use "commonmarker" do
  requires "commonmarker"
  answer { |id| Commonmarker.to_html("# #{id}\n\n* a\n* **b**\n") }
end
