# frozen_string_literal: true

# What a request and a response may be.

UnchangedHunt.kind :rack do
  needs "require \"rack\"\n"

  habit :input, <<~'RUBY'
    body__N__ = env["rack.input"]&.read.to_s
    __WAIT__
    out << body__N__.bytesize << body__N__.sum
  RUBY

  habit :input_in_parts, <<~'RUBY'
    input__N__ = env["rack.input"]
    out << input__N__&.read(3).inspect
    __WAIT__
    out << input__N__&.gets.to_s.bytesize <<
      input__N__&.each { |part| part }.class.name.to_s.size.positive? <<
      input__N__&.read(5).inspect << input__N__&.read.inspect
  RUBY

  habit :input_rewound, <<~'RUBY'
    if (input__N__ = env["rack.input"]).respond_to?(:rewind)
      out << input__N__.read.to_s.sum
      input__N__.rewind
      __WAIT__
      out << input__N__.read.to_s.sum << input__N__.size
    end
  RUBY

  habit :input_as_file, <<~'RUBY'
    input__N__ = env["rack.input"]
    if input__N__.respond_to?(:size)
      path__N__ = input__N__.respond_to?(:path) && input__N__.path
      out << input__N__.size << path__N__.class.name.size.positive?
    end
  RUBY

  habit :input_copied, <<~'RUBY'
    target__N__ = StringIO.new
    if env["rack.input"]
      out << IO.copy_stream(env["rack.input"], target__N__) << target__N__.string.sum
    end
  RUBY

  habit :keys, <<~'RUBY'
    out << env.values_at("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING",
                         "CONTENT_TYPE", "CONTENT_LENGTH", "SERVER_PROTOCOL", "REMOTE_ADDR",
                         "rack.url_scheme")
    __WAIT__
    out << env.select { |key, _| key.start_with?("HTTP_X_") }.sort << env["HTTP_HOST"].class <<
      env["SERVER_NAME"] << env["HTTP_ACCEPT"] << env["rack.multithread"].inspect
  RUBY

  habit :params, <<~'RUBY'
    request__N__ = Rack::Request.new(env)
    out << (request__N__.params.map { |key, value|
      [key.to_s[0, 20], value.to_s.size]
    } rescue $!.class) << request__N__.ip << request__N__.scheme << request__N__.cookies
    __WAIT__
    out << request__N__.path << request__N__.media_type.inspect << request__N__.query_string
  RUBY

  habit :after_reply, <<~'RUBY'
    env["rack.after_reply"] << -> { Hunt.count("after_reply") } if env["rack.after_reply"]
    out << env["rack.after_reply"].class
  RUBY

  habit :finished, <<~'RUBY'
    if env["rack.response_finished"]
      env["rack.response_finished"] << ->(_, status, *) { Hunt.count("finished #{status}") }
    end
    out << env["rack.response_finished"].class
  RUBY
end

UnchangedHunt.kind :finishes do
  habit :text_finish, "[200, { \"content-type\" => \"text/plain\" }, [Hunt.text(out)]]\n"
  habit :lines_finish,
        "[200, { \"content-type\" => \"text/plain\", \"x-hunt\" => id }, Hunt.text(out).lines]\n"

  habit :each_finish, <<~'RUBY', setup: <<~'SETUP'
    [200, { "content-type" => "text/plain" }, Parts__N__.new(out) { __WAIT__ }]
  RUBY
    class Parts__N__
      def initialize(out, &wait) = (@out, @wait = out, wait)
      def each = Hunt.text(@out).each_line { |line| @wait.call && yield(line) }
      def close = Hunt.count("closed")
    end
  SETUP

  habit :streamed_finish, <<~'RUBY'
    Thread.current[:hunt_finish] = id
    [200, { "content-type" => "text/plain" },
     ->(stream) { Hunt.text(out).each_line { |line| __WAIT__; stream.write(line) }; stream.close }]
  RUBY

  habit :enumerator_finish, <<~'RUBY'
    [200, { "content-type" => "text/plain" },
     Enumerator.new { |y| Hunt.text(out).each_line { |line| __WAIT__; y << line } }]
  RUBY

  habit :lazy_finish, <<~'RUBY'
    [200, { "content-type" => "text/plain" },
     Hunt.text(out).each_line.lazy.map { |line| __WAIT__; line }]
  RUBY

  habit :file_finish, <<~'RUBY'
    file__N__ = Tempfile.new("hunt")
    file__N__ << Hunt.text(out)
    file__N__.rewind
    [200, { "content-type" => "text/plain" }, file__N__]
  RUBY

  habit :cookies_finish, <<~'RUBY'
    [201, { "set-cookie" => ["a=1", "b=#{id}"], "x-empty" => "", "location" => "/#{id}" },
     [Hunt.text(out)]]
  RUBY
  habit :capitals_finish, <<~'RUBY'
    [200, { "Content-Type" => "text/plain", "X-Hunt" => id, "ETag" => "\"x\"" }, [Hunt.text(out)]]
  RUBY
  habit :length_finish,
        "text = Hunt.text(out)\n[200, { \"content-length\" => text.bytesize.to_s }, [text]]\n"
  habit :status_text_finish, "[\"202\", {}, [Hunt.text(out)]]\n"
  habit :no_content_finish, "[204, { \"x-out\" => out.size.to_s }, []]\n"
  habit :not_modified_finish, "[304, { \"etag\" => \"\\\"\#{id}\\\"\" }, []]\n"
  habit :big_finish, "[200, {}, [Hunt.text(out), \"x\" * 300_000]]\n"
  habit :empty_finish, "[200, { \"content-type\" => \"text/plain\" }, []]\n"

  habit :middleware_finish, <<~'RUBY', setup: "require \"rack\"\n"
    inner__N__ = ->(_env) { [200, { "content-type" => "text/plain" }, [Hunt.text(out)]] }
    timed__N__ = Rack::ContentLength.new(Rack::Runtime.new(inner__N__))
    whole__N__ = Rack::ETag.new(Rack::ConditionalGet.new(Rack::Head.new(timed__N__)))
    whole__N__.call(env).tap { |found| found[1].delete("x-runtime") }
  RUBY

  habit :deflated_finish, <<~'RUBY', setup: "require \"rack\"\n"
    Rack::Deflater.new(
      ->(_env) { [200, { "content-type" => "text/plain" }, Hunt.text(out).lines] }
    ).call(env.merge("HTTP_ACCEPT_ENCODING" => "identity"))
  RUBY
end
