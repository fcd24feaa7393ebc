# frozen_string_literal: true

Gems.use "caxlsx" do
  requires "axlsx"
  answer do |id|
    book = Axlsx::Package.new.tap { |package| package.workbook.add_worksheet(name: "a") { |sheet| 20.times { |n| sheet.add_row([id, n]) } } }
    Zip::File.open_buffer(book.to_stream) { |zip| zip.read("xl/worksheets/sheet1.xml").scan(/<t>#{id}</).size.nonzero? || zip.entries.size }
  end
end
