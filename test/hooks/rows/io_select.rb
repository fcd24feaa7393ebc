# frozen_string_literal: true

HookTable.library "IO.select" do
  options = { cured: { "< 3.2" => "io_select" } }

  row "IO.select", "one to read", **options do
    reader, writer = IO.pipe
    inside { IO.select([reader]) }
    event { writer << "x" }
    gives { |ready| ready == [[reader], [], []] }
  end

  row "IO.select", "one to write", **options do
    reader, writer = IO.pipe
    fill(writer)
    inside { IO.select(nil, [writer]) }
    event { drain(reader) }
    gives { |ready| ready == [[], [writer], []] }
  end

  row "IO.select", "a hundred to read, some to write", **options do
    pipes = Array.new(100) { IO.pipe }
    reader, full = IO.pipe
    fill(full)
    inside { IO.select(pipes.map(&:first), [full]) }
    event { pipes[70].last << "x" }
    gives { |ready| ready == [[pipes[70].first], [], []] && reader }
  end

  row "IO.select", "within a time", **options do
    reader, writer = IO.pipe
    inside { IO.select([reader], nil, nil, 60) }
    event { writer << "x" }
    gives { |ready| ready == [[reader], [], []] }
  end

  row "IO.select", "until the time is over", **options do
    reader, @writer = IO.pipe
    inside { IO.select([reader], nil, nil, 0.2) }
    elapses
    gives nil
  end

  row "IO.select", "a time and no IO", **options do
    inside { IO.select(nil, nil, nil, 0.2) }
    elapses
    gives nil
  end

  row "IO.select", "urgent data of a socket", **options do
    client, peer = tcp_pair
    inside { IO.select(nil, nil, [client]) }
    event { peer.send("!", Socket::MSG_OOB) }
    gives { |ready| ready == [[], [], [client]] }
  end

  row "Kernel#select", **options do
    reader, writer = IO.pipe
    inside { select([reader]) }
    event { writer << "x" }
    gives { |ready| ready == [[reader], [], []] }
  end
end
