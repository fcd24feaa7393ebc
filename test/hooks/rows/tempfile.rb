# frozen_string_literal: true

require "fileutils"
require "logger"
require "tempfile"
require "tmpdir"

# What these do on a disk that takes its time. From 3.4 on opening, looking up and removing go to
# another thread (blocking_operation_wait).
HookTable.library "tempfile" do
  calls = { "< 3.4" => "slow_files" }
  flushing = "no hook before Ruby 4.0 (Bug #21789): io.c, io_flush_buffer"

  {
    "Tempfile.create" => [:create, ->(folder) { Tempfile.create("row", folder, &:path) }],
    "Tempfile.new" => [:create, ->(folder) { Tempfile.new("row", folder).path }],
    "Tempfile.open" => [:create, ->(folder) { Tempfile.open("row", folder, &:path) }]
  }.each do |name, (request, call)|
    row name, "on a slow disk", cured: calls do
      folder = slow_disk(request)
      inside { call.call(folder) }
      elapses { disk_keeps? }
      gives { |path| path.start_with?(folder) }
    end
  end

  {
    "Tempfile#unlink" => [
      :unlink, { cured: calls }, ->(file) { file.unlink || true }, %w[Tempfile#delete]
    ],
    "Tempfile#close!" => [
      :unlink, { cured: calls }, ->(file) { file.close! || true }, []
    ],
    "Tempfile#write" => [
      :write, { blocks: flushing }, ->(file) { file.write("text") && file.flush && true }, []
    ]
  }.each do |name, (request, reason, call, also)|
    row name, "on a slow disk", also: also, **reason do
      file = Tempfile.new("row", slow_disk(request))
      inside { call.call(file) }
      elapses { disk_keeps? }
      gives true
    end
  end
end

HookTable.library "logger" do
  row "Logger#info", "to a file on a slow disk",
      blocks: { "< 3.3.1" => "the system call is made without the hook io_write: " \
                             "Bug #19546; io.c" } do
    logger = Logger.new(File.join(slow_disk(:write), "log"))
    inside { logger.info("late") }
    elapses { disk_keeps? }
    gives true
  end

  row "Logger#info", "rotating on a slow disk", cured: { "< 3.4" => "slow_files" } do
    path = File.join(slow_disk(:rename), "text")
    logger = Logger.new(path, 2, 1)
    inside { logger.info("late") }
    elapses { disk_keeps? }
    gives true
  end
end

HookTable.library "fileutils" do
  calls = { "< 3.4" => "slow_files" }

  {
    "cp" => [:open, ->(folder, copy) {
      FileUtils.cp("#{folder}/text", copy) || File.read(copy)
    }, "hello\n"],
    "mv" => [:rename, ->(folder, _) { FileUtils.mv("#{folder}/text", "#{folder}/new") }, 0],
    "rm" => [:unlink, ->(folder, _) { FileUtils.rm("#{folder}/text") }, nil],
    "touch" => [:setattr, ->(folder, _) { FileUtils.touch("#{folder}/text") }, nil],
    "chmod" => [:setattr, ->(folder, _) { FileUtils.chmod(0o600, "#{folder}/text") }, nil]
  }.each do |name, (request, call, value)|
    row "FileUtils.#{name}", "on a slow disk", cured: calls do
      folder = slow_disk(request)
      inside { call.call(folder, path("copy")) }
      elapses { disk_keeps? }
      gives { |result| value.nil? || result == value }
    end
  end
end
