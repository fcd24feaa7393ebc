# frozen_string_literal: true

Gems.use "mini_magick" do
  requires "mini_magick"
  setup do
    IMAGE = File.join(Dir.mktmpdir, "image.png")
    system("convert", "-size", "60x40", "xc:red", IMAGE, exception: true)
  end
  answer { |id| MiniMagick::Image.open(IMAGE).then { |image| image.resize("#{10 + (id.sum % 20)}x9!") && [image.width, image.height, image.type].tap { image.destroy! } } }
end
