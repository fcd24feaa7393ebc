# frozen_string_literal: true

HookTable.library "File" do
  row "File#flock", blocks: "flock(2) without a hook: file.c, rb_file_flock" do
    file = File.open(file("x"))
    holder = File.open(path)
    holder.flock(File::LOCK_EX)
    inside { file.flock(File::LOCK_EX) }
    event { holder.flock(File::LOCK_UN) }
    gives 0
  end
end
