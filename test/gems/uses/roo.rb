# frozen_string_literal: true

Gems.use "roo" do
  requires "roo", "axlsx"
  setup do
    BOOK = File.join(Dir.mktmpdir, "book.xlsx")
    Axlsx::Package.new.tap { |package|
      package.workbook.add_worksheet(name: "a") { |sheet|
        30.times { |n| sheet.add_row(["row #{n}", n]) }
      }
    }.serialize(BOOK)
  end
  answer do |id|
    Roo::Excelx.new(BOOK).then do |book|
      [book.sheet("a").row(1 + (id.sum % 30)),
       book.each_row_streaming.map { |row| Hunt.spin(20) && row.size }.sum]
    end
  end
end
