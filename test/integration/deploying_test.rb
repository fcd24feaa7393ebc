# frozen_string_literal: true

# The files of examples/deploy, by the programs that they are for; and what a service manager is
# told.

require "minitest/autorun"
require "net/http"
require "open3"
require "socket"
require "tmpdir"
require "yaml"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/server_process"

class DeployingTest < Minitest::Test
  FOLDER = File.join(ServerProcess::ROOT, "examples/deploy")
  # The longest stop by default: timeouts { shutdown }, and at_exit blocks.
  STOP_S = 30 + 12
  APP = <<~'RUBY'
    run(lambda do |env|
      [200, {}, ["#{env["REQUEST_METHOD"]} #{env["HTTP_HOST"]} #{env["rack.input"]&.read&.size}"]]
    end)
  RUBY

  def setup
    @folder = Dir.mktmpdir
    File.chmod(0o755, @folder)
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_the_unit_is_one
    need("systemd-analyze", "--version")
    # Its user and folders are not on this machine, and its command may be elsewhere.
    text = read("neverblock.service").sub(/^User=.*\n/, "").gsub("/srv/app/current", @folder)
                                     .sub("/usr/bin/bundle", "/bin/true")
    File.write(path = File.join(@folder, "app.service"), text)
    output, = Open3.capture2e("systemd-analyze", "verify", "--man=no", path)
    assert_empty(output.lines.grep(/app\.service/))
  end

  [[], %w[-w 2]].each do |options|
    define_method("test_the_service_manager_is_told_#{options.join(" ")}".strip) do
      with_manager do |socket, env|
        server = ServerProcess.new(APP, options: options, env: env).start
        assert_equal "READY=1\nSTATUS=Listening on #{server.url}", told(socket)
        server.stop
        assert_match(/\ASTOPPING=1\n/, told(socket))
      end
    end
  end

  def test_what_runs_in_nginx
    need("nginx", "-v")
    socket = File.join(@folder, "app.sock")
    ServerProcess.run(APP, binds: ["unix://#{socket}?mode=0666"]) do
      behind_nginx(socket) do |http|
        assert_equal "GET app.example 0", http.get("/", "host" => "app.example").body
        answer = http.post("/", "x" * 3_000_000, "host" => "app.example")
        assert_equal "POST app.example 3000000", answer.body
      end
    end
  end

  def test_haproxy_reads_its_file
    need("haproxy", "-v")
    output, status = Open3.capture2e("haproxy", "-c", "-f", File.join(FOLDER, "haproxy.cfg"))
    assert_predicate status, :success?, output
  end

  def test_the_manifests_name_ports_probes_and_times_that_fit
    deployment, service, scaler = YAML.load_stream(read("kubernetes.yaml"))
    pod = deployment.dig("spec", "template", "spec")
    container = pod["containers"].first
    ports = container["ports"].to_h { |port| port.values_at("name", "containerPort") }
    assert_equal({ "http" => 8080, "admin" => 9293 }, ports)
    probes = %w[startupProbe readinessProbe livenessProbe].map { |name|
      container.dig(name, "httpGet")
    }
    assert_equal(%w[/ready /ready /health], probes.map { |probe| probe["path"] })
    assert_operator pod["terminationGracePeriodSeconds"], :>=, 5 + STOP_S, "preStop and the drain"
    assert_equal service.dig("spec", "selector"), deployment.dig("spec", "selector", "matchLabels")
    assert_equal scaler.dig("spec", "scaleTargetRef", "name"), deployment.dig("metadata", "name")
    assert_operator YAML.safe_load(read("kamal.yml"))["drain_timeout"], :>=, STOP_S
  end

  # The words of the Procfile and of the Dockerfile are those of the command.
  def test_commands_start_a_server
    ["Procfile", "Dockerfile"].each do |name|
      words = command_of(name)
      assert_equal %w[bundle exec neverblock], words.first(3)
      words.map! { |word| word.sub("9293", "0") }
      ServerProcess.run(APP, options: words.drop(3)) do |server|
        assert_equal "200", HTTPClient.get_response(URI(server.url)).code
      end
    end
  end

  private

  def read(name) = File.read(File.join(FOLDER, name))

  def command_of(name)
    return read(name)[/^web: (.*)/, 1].split if name == "Procfile"

    JSON.parse(read(name)[/^CMD (\[.*\])/, 1])
  end

  def need(program, flag)
    skip "needs #{program}" unless system(program, flag, out: File::NULL, err: File::NULL)
  end

  def with_manager
    path = File.join(@folder, "notify")
    socket = Socket.new(:UNIX, :DGRAM)
    socket.bind(Socket.pack_sockaddr_un(path))
    yield socket, { "NOTIFY_SOCKET" => path }
  ensure
    socket&.close
  end

  def told(socket)
    assert socket.wait_readable(Patience::SECONDS), "nothing came"
    socket.recv(4_096)
  end

  def behind_nginx(socket)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    body = read("nginx.conf").sub("listen 80", "listen 127.0.0.1:#{port}")
                             .sub("unix:/run/app/app.sock", "unix:#{socket}")
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map do |name|
      "#{name}_temp_path #{@folder}/#{name};"
    end
    File.write(path = File.join(@folder, "nginx.conf"),
               "daemon off;\npid #{@folder}/pid;\nevents {}\nhttp {\naccess_log off;\n" \
               "#{temporary.join("\n")}\n#{body}}\n")
    pid = Process.spawn("nginx", "-p", @folder, "-c", path, "-e", "stderr")
    http = Net::HTTP.new("127.0.0.1", port)
    Patience.await("nginx") { http.get("/") rescue nil } # rubocop:disable Style/RescueModifier
    yield http
  ensure
    Process.kill("TERM", pid)
    Process.wait(pid)
  end
end
