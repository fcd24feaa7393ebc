# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # Images.
  module Images
    def vips(me, turn)
      source = Vips::SourceCustom.new
      image = StringIO.new("P5 16 16 255\n".b + Random.new(me).bytes(256))
      # GLib calls the block, so nobody sees what it raises: every third request waits instead.
      source.on_read do |size|
        (me % 3 == 2 ? sleep(0.001) : turn.call) && image.read([size, 100].min)
      end
      Vips::Image.new_from_source(source, "", access: :sequential).avg
    end

    def rmagick(me, turn)
      image = Magick::Image.new(3, 3) do |options|
        turn.call && options.background_color = "rgb(#{me},#{me * 2},9)"
      end
      seen = []
      begin
        image.each_pixel do |pixel, column, row|
          turn.call && seen << [pixel.red / 257, pixel.green / 257, column, row]
        end
      rescue StandardError => e
        seen << e.message
      end
      bigger = image.blur_image(0, 1).resize(8, 8).get_pixels(2, 2, 2, 1).map do |pixel|
        pixel.green / 257
      end
      blob = image.to_blob { |options| turn.call && options.format = "PPM" }
      [seen, bigger, Magick::Image.from_blob(blob).first.columns,
       (Magick::Image.from_blob("x#{me}") { |one| one.format = "PNG" } rescue $!.class.name)]
    end
  end
end

# rubocop:enable Style/RescueModifier
