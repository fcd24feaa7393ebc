# frozen_string_literal: true

Gems.use "mini_magick" do
  needs :imagemagick
  requires "mini_magick"
  setup { PICTURE = Gems.png(64, 48) }
  answer do |id|
    image = MiniMagick::Image.read(PICTURE)
    image.combine_options { |change| change.resize("20x10!").rotate("90") }
    # rubocop:disable Style/RescueModifier -- what is raised is a part of the answer
    broken = MiniMagick::Image.open("/no/#{id}.png") rescue $!.class
    # rubocop:enable Style/RescueModifier
    [image.width, image.height, image.type, image.to_blob.bytesize.positive?, broken].tap do
      image.destroy!
    end
  end
end
