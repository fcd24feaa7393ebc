# frozen_string_literal: true

Gems.use "prawn" do
  requires "prawn"
  answer { |id|
    Prawn::Document.new(info: { CreationDate: Time.at(0) }) { |pdf|
      begin
        pdf.text("Hello #{id}") && Hunt.nap && pdf.table([[1]])
      rescue
        pdf.stroke_line([0, 0], [9, 9])
      end
    }.render.size
  }
end
