# frozen_string_literal: true

Gems.use "rubyzip" do
  requires "zip"
  answer do |id|
    buffer = Zip::OutputStream.write_buffer { |zip| 3.times { |n| zip.put_next_entry("#{n}.txt") && Hunt.nap && zip.write("#{id}-#{n}" * 200) } }
    Zip::File.open_buffer(buffer.string) { |zip| zip.map { |entry| [entry.name, entry.get_input_stream.read.sum] } }
  end
end
