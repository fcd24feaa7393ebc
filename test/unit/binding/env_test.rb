# frozen_string_literal: true

require_relative "binding_case"

# Tests the environment built in C. What one request has must not show in the next, although what
# repeats is kept in a template.
class EnvTest < BindingCase
  def setup
    super
    @seen = Queue.new
  end

  def test_what_one_request_has_does_not_show_in_the_next
    start
    heads = ["Host: a.test:81", "Host: b.test", "Host: [::1]:9", "Host: #{"long" * 40}:82",
             "Host: a.test:81", "X-A: 1", "Cookie: a=1", "Content-Type: text/x"]
    rng = Random.new(1)
    client do |wire|
      200.times do
        fields = heads.sample(3, random: rng).uniq { |field| field[/\A[^:]+/] }
        fields.unshift("Host: z") unless fields.any?(/\AHost/)
        wire.write("GET /?q HTTP/1.1\r\n#{fields.join("\r\n")}\r\n\r\n")
        wire.response
        env = @seen.pop
        host = fields.grep(/\AHost/).first.delete_prefix("Host: ")
        assert_equal host, env["HTTP_HOST"]
        assert_equal host[/\A(\[.*\]|[^:]*)/], env["SERVER_NAME"]
        assert_equal host[/:(\d+)\z/, 1] || "80", env["SERVER_PORT"]
        others = { "HTTP_X_A" => "X-A", "HTTP_COOKIE" => "Cookie",
                   "CONTENT_TYPE" => "Content-Type" }
        others.transform_values! { |name| fields.grep(/\A#{name}/).first&.[](/: (.*)/, 1) }
        others.each do |key, value|
          value ? assert_equal(value, env[key]) : refute_includes(env.keys, key)
        end
      end
    end
  end

  def test_a_request_without_host_after_one_with
    start
    2.times do
      client { |wire| wire.get("/") && wire.response }
      assert_equal "localhost", @seen.pop["HTTP_HOST"]
      client { |wire| wire.write("GET / HTTP/1.0\r\n\r\n") && wire.response(version: "1.0") }
      env = @seen.pop
      refute_includes env.keys, "HTTP_HOST"
      url = URI(@server.urls.first)
      assert_equal [url.host, url.port.to_s], env.values_at("SERVER_NAME", "SERVER_PORT")
      assert_equal "HTTP/1.0", env["SERVER_PROTOCOL"]
    end
  end

  def test_fields_at_every_bound
    start(headers_max: 256, header_bytes_max: 262_144)
    names = { "x-#{"n" * 254}" => true, "x-#{"n" * 255}" => false, "x_z" => false, "x-y" => true,
              "content_length" => false }
    many = Array.new(200) { |n| "x-many: #{n}" }
    client do |wire|
      wire.get("/", *names.keys.map { |name| "#{name}: v" }, *many, "x-long: #{"v" * 100_000}")
      assert_equal 200, wire.response.status
    end
    env = @seen.pop
    names.each do |name, taken|
      assert_equal taken, env.key?("HTTP_#{name.upcase.tr("-", "_")}") || false, name
    end
    assert_equal Array.new(200, &:to_s).join(", "), env["HTTP_X_MANY"]
    assert_equal 100_000, env["HTTP_X_LONG"].bytesize
    refute env.key?("HTTP_CONTENT_LENGTH") || env.key?("CONTENT_LENGTH")
  end

  def test_environments_survive_compaction
    start
    kept = Array.new(300) do |n|
      client { |wire| wire.get("/#{n}?#{n}", "x-n: #{n}") && wire.response }
      @seen.pop
    end
    # test/unit/scheduler/gc_test.rb says why not on Ruby before 3.2.
    GC.compact if GC.respond_to?(:compact) && RUBY_VERSION >= "3.2"
    kept.each_with_index do |env, n|
      assert_equal ["/#{n}", n.to_s, n.to_s, "localhost", "127.0.0.1"],
                   env.values_at("PATH_INFO", "QUERY_STRING", "HTTP_X_N", "HTTP_HOST",
                                 "REMOTE_ADDR")
    end
    assert_equal 300, kept.map { |env| env["neverblock.request_id"] }.uniq.size
    assert_equal 200, ask("/after").status
  end

  private

  def start(**settings)
    serve(**settings) { |env| @seen << env && [200, {}, [""]] }
  end
end
