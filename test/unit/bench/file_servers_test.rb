# frozen_string_literal: true

require_relative "bench_case"

class BenchFileServersTest < BenchCase
  Folder = Struct.new(:directory)

  def setup
    @directory = Dir.mktmpdir
    @files = -> { Folder.new("/srv/files") }
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_each_algorithm_is_named_with_its_part_and_its_threads
    ours = FileServers.algorithms(files: @files).reject { |server| server.name == "nginx" }
    told = ours.map do |server|
      [server.name, option(server, "--algorithm"), option(server, "--public"),
       File.read(option(server, "-C"))]
    end
    assert_equal [["neverblock sba", "sba", "/srv/files", config(81_920)],
                  ["neverblock enba", "enba", "/srv/files", config(81_920)],
                  ["neverblock eba", "eba", "/srv/files", config(81_920)],
                  ["neverblock eba 40K", "eba", "/srv/files", config(40_960)],
                  ["neverblock auto", "auto", "/srv/files", config(81_920)]], told
  end

  def test_a_server_through_its_application_serves_no_folder_itself
    servers = FileServers.with_and_without(files: @files).to_h { |server| [server.name, server] }
    ["neverblock to_path", "neverblock read"].zip(%w[to_path read]) do |name, how|
      launch = servers.fetch(name).launch(port: 1, app: "files.ru", directory: @directory)
      refute_includes launch.command, "--public"
      assert_equal ["/srv/files", how],
                   launch.environment.values_at("NB_BENCH_FILES", "NB_BENCH_THROUGH")
    end
    assert_nil option(servers.fetch("neverblock"), "--algorithm")
  end

  def test_nginx_is_told_the_folder_and_whether_to_use_sendfile
    { FileServers.algorithms(files: @files).last => "on",
      FileServers.with_and_without(files: @files).last => "off" }.each do |server, wanted|
      server.launch(port: 4321, app: nil, directory: @directory)
      told = File.read(File.join(@directory, "nginx.conf"))
      lines = ["sendfile #{wanted};", "root /srv/files;", "listen 127.0.0.1:4321 ",
               "worker_processes 1;", "access_log off;", "open_file_cache max"]
      lines.each { |line| assert_includes told, line }
      refute_includes told, "{{"
    end
  end

  private

  def config(buffer)
    "sendfile { workers 50; buffer #{buffer} }\n"
  end

  def option(server, name)
    command = server.launch(port: 1, app: "files.ru", directory: @directory).command
    place = command.index(name)
    place && command[place + 1]
  end
end
