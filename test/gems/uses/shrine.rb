# frozen_string_literal: true

Gems.use "shrine" do
  requires "shrine", "shrine/storage/file_system", "shrine/storage/memory"
  setup do
    Shrine.storages = { store: Shrine::Storage::FileSystem.new(Dir.mktmpdir),
                        cache: Shrine::Storage::Memory.new }
  end
  answer do |id|
    Shrine.upload(StringIO.new("text #{id}"), :store).then do |file|
      [file.read, file.size, file.delete.class]
    end
  end
end
