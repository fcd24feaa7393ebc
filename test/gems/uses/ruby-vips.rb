# frozen_string_literal: true

Gems.use "ruby-vips" do
  needs :libvips
  requires "vips"
  setup { PICTURE = Gems.png(320, 240) }
  answer do |id|
    small = Vips::Image.thumbnail_buffer(PICTURE, 40).copy_memory
    # rubocop:disable Style/RescueModifier -- what is raised is a part of the answer
    broken = Vips::Image.new_from_buffer("no #{id}", "") rescue $!.class
    # rubocop:enable Style/RescueModifier
    [small.width, small.height, small.avg.round(2), small.jpegsave_buffer.bytesize, broken]
  end
end
