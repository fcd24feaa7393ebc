# frozen_string_literal: true

Gems.use "carrierwave" do
  requires "carrierwave"
  setup do
    ROOT = Dir.mktmpdir
    class Uploader < CarrierWave::Uploader::Base
      storage :file
      def root = ROOT
      def filename = "#{original_filename}.kept"
      process :noted
      def noted = Hunt.nap
    end
  end
  answer do |id|
    Tempfile.create([id, ".txt"]) { |file|
      file.write(id) && file.flush && Uploader.new.tap { |uploader|
        uploader.store!(file)
      }.then { |uploader|
        [uploader.read, uploader.file.size].tap {
          uploader.remove!
        }
      }
    }
  end
end
