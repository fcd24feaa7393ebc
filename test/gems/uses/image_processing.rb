# frozen_string_literal: true

Gems.use "image_processing" do
  needs :imagemagick, :libvips
  requires "image_processing/mini_magick", "image_processing/vips"
  setup { File.binwrite(PICTURE = File.join(Dir.mktmpdir, "picture.png"), Gems.png(64, 48)) }
  answer do |_id|
    [ImageProcessing::MiniMagick, ImageProcessing::Vips].map do |tool|
      file = tool.source(PICTURE).resize_to_fill(20, 10).convert("jpg").call
      image = Vips::Image.new_from_file(file.path)
      [image.width, image.height, File.extname(file.path)].tap { file.close! }
    end
  end
end
