# frozen_string_literal: true

HookTable.library "IO" do
  row "IO#read" do
    reader, writer = IO.pipe
    inside { reader.read(8) }
    event { writer << "half" }
    event { writer << "full" }
    gives "halffull"
  end
end
