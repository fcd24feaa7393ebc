# frozen_string_literal: true

UnchangedHunt.kind :io do
  habit :pipe, <<~'RUBY'
    IO.pipe do |reader, writer|
      thread__N__ = Thread.new { writer << (__T__ * 20_000); writer.close }
      __WAIT__
      out << reader.read.sum << thread__N__.join.class
    end
  RUBY

  habit :select, <<~'RUBY'
    IO.pipe do |reader, writer|
      Thread.new { Hunt.nap; writer << __T__ }
      out << (IO.select([reader], nil, nil, 30)&.first == [reader]) << reader.readpartial(99)
      out << IO.select([reader], nil, nil, 0.001).inspect <<
        IO.select(nil, [writer], nil, 30).map(&:size)
    end
  RUBY

  habit :nonblock, <<~'RUBY'
    IO.pipe do |reader, writer|
      out << reader.read_nonblock(1, exception: false) << (reader.read_nonblock(1) rescue $!.class)
      writer << __T__
      __WAIT__
      out << reader.read_nonblock(99)
    end
  RUBY

  habit :socket_pair, <<~'RUBY'
    one__N__, other__N__ = UNIXSocket.pair
    Thread.new { other__N__.puts(other__N__.gets.upcase); other__N__.close }
    one__N__.puts(__T__)
    __WAIT__
    out << one__N__.read
    one__N__.close
  RUBY

  habit :tcp_server, <<~'RUBY'
    server__N__ = TCPServer.new("127.0.0.1", 0)
    thread__N__ = Thread.new do
      server__N__.accept.tap { |client| client.puts(client.gets.upcase) }.close
    end
    TCPSocket.open("127.0.0.1", server__N__.addr[1]) do |socket|
      socket.puts(__T__)
      __WAIT__
      out << socket.read
    end
    thread__N__.join
    server__N__.close
  RUBY

  habit :http, <<~'RUBY'
    out << Hunt.fetch(__T__)
    Net::HTTP.start("127.0.0.1", Hunt::SERVICE) do |http|
      out << http.get("/a#{__N__}#{id}").body
      __WAIT__
      out << http.get("/b#{id}").code
    end
  RUBY

  habit :http_blocks, <<~'RUBY'
    Net::HTTP.start("127.0.0.1", Hunt::SERVICE) do |http|
      http.request(Net::HTTP::Get.new("/#{id}")) do |response|
        response.read_body { |part| __WAIT__; out << part }
      end
      __BODY__
    end
  RUBY

  # A port that is bound and does not listen is nobody else's.
  habit :refused, <<~'RUBY'
    held__N__ = Socket.new(:INET, :STREAM)
    held__N__.bind(Addrinfo.tcp("127.0.0.1", 0))
    out << (TCPSocket.new("127.0.0.1", held__N__.local_address.ip_port) rescue $!.class)
    held__N__.close
  RUBY

  habit :file, <<~'RUBY'
    Tempfile.create("hunt") do |file|
      file.puts(__T__)
      __WAIT__
      file.rewind
      out << file.gets << File.read(file.path) << File.size(file.path) << file.flock(File::LOCK_EX)
      file.seek(2)
      out << file.readline << file.eof? << (file.readline rescue $!.class)
    end
  RUBY

  habit :file_around, <<~'RUBY'
    Tempfile.create("hunt") do |file__N__|
      file__N__.flock(File::LOCK_EX)
      __BODY__
      file__N__ << __T__
      file__N__.flush
      out << IO.read(file__N__.path)
    end
  RUBY

  habit :shared_file_lock, <<~'RUBY', setup: "FILE__N__ = Tempfile.new(\"hunt\")\nAtExit__N__ = 1\n"
    File.open(FILE__N__.path, "r+") { |file| file.flock(File::LOCK_EX); __WAIT__; out << __T__ }
  RUBY

  habit :copy_stream, <<~'RUBY'
    target__N__ = StringIO.new
    IO.pipe do |reader, writer|
      Thread.new { writer << __T__; Hunt.nap; writer.close }
      out << IO.copy_stream(reader, target__N__) << target__N__.string
    end
  RUBY

  habit :closed_by_another, <<~'RUBY'
    reader__N__, writer__N__ = IO.pipe
    Thread.new { Hunt.nap(0.01); reader__N__.close }
    out << (reader__N__.read(1) rescue $!.class)
    writer__N__.close
  RUBY

  habit :broken_pipe, <<~'RUBY'
    IO.pipe do |reader, writer|
      reader.close
      __WAIT__
      out << (writer.syswrite("x") rescue $!.class)
    end
  RUBY

  habit :names, <<~'RUBY'
    out << Addrinfo.tcp("127.0.0.1", 80).ip_address << IPSocket.getaddress("localhost").class
    __WAIT__
    out << Socket.tcp("127.0.0.1", Hunt::SERVICE,
                      connect_timeout: 30) { |socket| socket.remote_address.ip? }
  RUBY
end
