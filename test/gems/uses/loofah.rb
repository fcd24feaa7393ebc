# frozen_string_literal: true

Gems.use "loofah" do
  requires "loofah"
  answer do |id|
    Loofah.fragment("<b onclick='x'>#{id}</b><script>1</script>")
          .scrub!(Loofah::Scrubber.new { |node| Hunt.nap && node.remove if node.name == "script" })
          .to_s
  end
end
