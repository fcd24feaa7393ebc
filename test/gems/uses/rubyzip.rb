# frozen_string_literal: true

Gems.use "rubyzip" do
  requires "zip"
  answer do |id|
    buffer = Zip::OutputStream.write_buffer do |zip|
      3.times { |n| zip.put_next_entry("#{n}.txt") && Hunt.nap && zip.write("#{id}-#{n}" * 200) }
    end
    Zip::File.open_buffer(buffer.string) do |zip|
      zip.map { |entry| [entry.name, entry.get_input_stream.read.sum] }
    end
  end
end
