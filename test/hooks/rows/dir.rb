# frozen_string_literal: true

HookTable.library "Dir" do
  disk = { "< 3.4" => "no hook: the system call is made here: dir.c; " \
                      "blocking_operation_wait is Ruby 3.4's: Feature #20876" }

  def self.folder(name, request: :lookup, gives: nil, **options, &call)
    check = gives
    row name, "a slow disk", **options do
      folder = slow_disk(request)
      inside { instance_exec(folder, &call) }
      elapses { disk_keeps? }
      gives(*[check].compact)
    end
  end

  folder("Dir.open", request: :opendir, cured: { "< 3.4" => "slow_files" },
         also: "Dir.new") do |folder|
    Dir.open(folder).close
  end
  folder("Dir.children", request: :readdir, gives: %w[text folder], blocks: disk,
         also: %w[Dir.entries Dir.each_child Dir.foreach]) { |folder| Dir.children(folder) }
  folder("Dir#each", request: :readdir, gives: %w[text folder], blocks: disk,
         also: %w[Dir#read Dir#children Dir#each_child]) { |folder| Dir.new(folder).each.to_a }
  folder("Dir.glob", request: :readdir, blocks: disk, also: "Dir.[]") do |folder|
    Dir.glob("#{folder}/**/*")
  end
  folder("Dir.empty?", request: :readdir, gives: false,
         cured: { "< 3.4" => "slow_files" }) do |folder|
    Dir.empty?(folder)
  end
  folder("Dir.exist?", gives: true, cured: { "< 3.4" => "slow_files" }) do |folder|
    Dir.exist?("#{folder}/folder")
  end
  folder("Dir.mkdir", request: :mkdir, gives: 0, cured: { "< 3.4" => "slow_files" }) do |folder|
    Dir.mkdir("#{folder}/new")
  end
  folder("Dir.rmdir", request: :rmdir, gives: 0, cured: { "< 3.4" => "slow_files" },
         also: %w[Dir.delete Dir.unlink]) { |folder| Dir.rmdir("#{folder}/folder") }
  folder("Dir.chdir", blocks: disk, also: %w[Dir#chdir Dir.fchdir]) do |folder|
    Dir.chdir("#{folder}/folder")
  end
end
