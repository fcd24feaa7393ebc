# frozen_string_literal: true

Gems.use "caxlsx" do
  requires "axlsx"
  answer do |id|
    book = Axlsx::Package.new.tap do |package|
      package.workbook.add_worksheet(name: "a") { |sheet| 20.times { |n| sheet.add_row([id, n]) } }
    end
    Zip::File.open_buffer(book.to_stream) do |zip|
      zip.read("xl/worksheets/sheet1.xml").scan(/<t>#{id}</).size.nonzero? || zip.entries.size
    end
  end
end
