# frozen_string_literal: true

require "socket"
require_relative "bench_case"

class BenchOpenLoopTest < BenchCase
  ANSWER = "HTTP/1.1 200 OK\r\nX-Worker: 7\r\ncontent-length: 5\r\n\r\nhello"

  def setup
    @listener = TCPServer.new("127.0.0.1", 0)
    @url = "http://127.0.0.1:#{@listener.addr[1]}"
    @asked = Queue.new
    @home = Dir.mktmpdir
  end

  def teardown
    @server&.kill&.join
    @listener.close
    FileUtils.rm_rf(@home)
  end

  def test_the_same_seed_gives_the_same_requests_and_another_one_others
    load = Arrivals.new(rate: 100, path: "/sleep/", service_ms: 20)
    assert_equal load.jobs(10, 3), load.jobs(10, 3)
    refute_equal load.jobs(10, 3), load.jobs(10, 4)
  end

  def test_requests_come_in_order_at_their_rate_with_their_mean_service_in_the_path
    jobs = Arrivals.new(rate: 100, path: "/sleep/", service_ms: 20).jobs(1000, 1)
    assert_in_delta 100_000, jobs.size, 2_000
    assert_equal jobs.map(&:due).sort, jobs.map(&:due)
    assert_in_delta 0.02, jobs.sum(&:service) / jobs.size, 0.0005
    assert_equal "/sleep/#{(jobs.first.service * 1e6).round}", jobs.first.path
  end

  def test_without_a_service_time_the_path_stays_as_it_is
    assert_equal ["/"], Arrivals.new(rate: 100, path: "/").jobs(1, 1).map(&:path).uniq
  end

  def test_each_request_is_answered_on_a_kept_connection
    serve { |socket| answer_each(socket) }
    answers = run_jobs(%w[/a /b /c], connections: 1)
    assert_equal [[200, 7]] * 3, answers.map { |answer| [answer.status, answer.worker] }
    assert_equal ["GET /a HTTP/1.1\r\n", "GET /b HTTP/1.1\r\n", "GET /c HTTP/1.1\r\n"],
                 Array.new(3) { @asked.pop }
    answers.each do |answer|
      assert answer.due_us <= answer.sent_us && answer.sent_us <= answer.done_us, answer.inspect
    end
  end

  # The server answers no request before it has seen the next. A client that waited for answers
  # would never send it.
  def test_a_request_is_sent_whether_or_not_the_one_before_was_answered
    serve { |socket| (@open ||= []) << socket }
    both = Thread.new do
      Thread.pass until (@open || []).size == 2
      heads = @open.map { |socket| head_of(socket) }
      @open.each { |socket| socket.write(ANSWER) }
      heads
    end
    assert_equal [200, 200], run_jobs(%w[/a /b], connections: 2).map(&:status)
    assert_equal %w[/a /b], both.value.map { |head| head.split[1] }.sort
  end

  def test_an_answer_that_comes_in_pieces_is_one
    serve do |socket|
      head_of(socket)
      ANSWER.each_char { |char| socket.write(char) }
    end
    assert_equal [200], run_jobs(%w[/a]).map(&:status)
  end

  def test_chunks_in_pieces_are_one_answer_too
    serve do |socket|
      2.times do
        head_of(socket)
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\n1\r\n.\r\n0\r\n\r\n"
          .each_char { |char| socket.write(char) }
      end
    end
    assert_equal [200, 200], run_jobs(%w[/a /b], connections: 1).map(&:status)
  end

  def test_who_is_cut_off_has_no_answer_and_asks_on_with_a_new_connection
    count = 0
    serve do |socket|
      next answer_each(socket) if (count += 1) > 1

      head_of(socket)
      socket.close
    end
    assert_equal [0, 200], run_jobs(%w[/a /b], connections: 1).map(&:status)
  end

  def test_where_nobody_listens_it_says_so
    @listener.close
    assert_match(/connect: Connection refused/, assert_raises(Error) { run_jobs(%w[/a]) }.message)
  end

  def test_a_line_that_is_no_figure_is_an_error
    assert_raises(Error) { OpenLoop.parse("0 1 2 200 x\n", 1) }
    assert_raises(Error) { OpenLoop.parse("0 1 2 200 0\n", 2) }
  end

  private

  def run_jobs(paths, connections: 4)
    jobs = paths.map.with_index { |path, index| Job.new(index / 1000.0, nil, path) }
    OpenLoop.new(home: @home).run(jobs, url: @url, connections: connections)
  end

  def serve
    @server = Thread.new do
      loop { Thread.new(@listener.accept) { |socket| answering { yield socket } } }
    rescue IOError, SystemCallError
      nil
    end
  end

  def answering
    yield
  rescue IOError, SystemCallError
    nil
  end

  def answer_each(socket)
    loop do
      @asked << head_of(socket).lines.first
      socket.write(ANSWER)
    end
  end

  def head_of(socket)
    head = +""
    head << socket.readpartial(1) until head.end_with?("\r\n\r\n")
    head
  end
end
