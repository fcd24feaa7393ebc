# frozen_string_literal: true

# A disk that waits: a file system of our own (FUSE), served by another process, that takes its time
# over one kind of request. What a network file system or a worn disk does now and then happens here
# every time.

module HookTable
  module SlowDisk
    # fuse_kernel.h of Linux: the requests that are answered, by number.
    REQUESTS = {
      1 => :lookup, 3 => :getattr, 4 => :setattr, 5 => :readlink, 6 => :symlink, 8 => :mknod,
      9 => :mkdir, 10 => :unlink, 11 => :rmdir, 12 => :rename, 13 => :link, 14 => :open,
      15 => :read, 16 => :write, 17 => :statfs, 18 => :release, 20 => :fsync, 21 => :setxattr,
      22 => :getxattr, 23 => :listxattr, 25 => :flush, 26 => :init, 27 => :opendir,
      28 => :readdir, 29 => :releasedir, 31 => :getlk, 32 => :setlk, 33 => :setlkw,
      34 => :access, 35 => :create, 45 => :rename
    }.freeze
    # Asked for and not needed: the kernel then does without.
    ENOSYS = 38

    # Mounts it over an empty folder. It has a file "text" ("hello\n") and a folder "folder" with a
    # file "inner" in it. It takes whatever is made or changed.
    # @param request [Symbol] of REQUESTS: the first of them is kept for a while. No event could end
    #   that wait: many of these calls hold Ruby's lock.
    # @return [String] the folder
    def slow_disk(request)
      unavailable("there is no /dev/fuse") unless File.writable?("/dev/fuse")
      private_mounts
      folder = path("disk").tap { |name| Dir.mkdir(name) }
      device = File.open("/dev/fuse", "r+b")
      options = "fd=9,rootmode=40000,user_id=0,group_id=0"
      system("mount", "-i", "-t", "fuse", "-o", options, "slow", folder,
             9 => device, exception: true)
      @disk_marks = +""
      @disk_news, news = IO.pipe
      fork { Server.new(device, request, news).serve }
      [device, news].each(&:close)
      folder
    rescue RuntimeError, Errno::ENOENT, Errno::EACCES, Errno::ENODEV => e
      unavailable("no FUSE: #{e.message}")
    end

    # @return [Boolean] whether the disk keeps its request at this moment
    def disk_keeps?
      read_disk_news
      @disk_marks == "b"
    end

    # @return [Boolean] whether the row has a disk that does not stand as it should: not asked yet
    #   (""), or done with its request ("be")
    def disk_astray?(marks)
      return false unless @disk_news

      read_disk_news
      @disk_marks != marks
    end

    private def read_disk_news
      marks = @disk_news.read_nonblock(2, exception: false)
      @disk_marks << marks if marks.is_a?(String)
    end

    # One request at a time. Names stand for themselves: every lookup of a known name answers its
    # node.
    class Server
      NODES = {
        1 => [0o40755, 0],
        2 => [0o100644, 6],
        3 => [0o40755, 0],
        4 => [0o100644, 6],
        5 => [0o120777, 4],
        6 => [0o100644, 20],
        7 => [0o10644, 0]
      }.freeze
      NAMES = { "text" => 2, "folder" => 3, "inner" => 4, "symlink" => 5, "code.rb" => 6 }.freeze
      TEXTS = { 2 => "hello\n", 4 => "inner\n", 6 => "$required = 'hello'\n" }.freeze
      SIZE_MAX = 1 << 18
      KEPT_S = 0.2

      # @param news [IO] "b" when it begins to keep a request, "e" when it ends
      def initialize(device, kept, news)
        @device = device
        @news = news
        @names = NAMES.dup
        @kept = kept
      end

      def serve
        loop do
          request = @device.sysread(SIZE_MAX)
          _, number, unique, node = request.unpack("LLQQ")
          kind = REQUESTS[number]
          keep if kind == @kept
          known = respond_to?(kind.to_s, true) && kind
          answer(unique, known ? send(kind, node, request.byteslice(40..)) : ENOSYS)
        end
      rescue EOFError, Errno::ENODEV
        nil
      end

      private

      def keep
        @news.write("b")
        sleep(KEPT_S)
        @news.write("e")
        @kept = :nothing_more
      end

      def answer(unique, body)
        return if body.nil?

        code, body = body.is_a?(Integer) ? [-body, ""] : [0, body]
        @device.syswrite([16 + body.bytesize, code, unique].pack("LlQ") + body)
      rescue Errno::ENOENT
        nil # it was interrupted
      end

      # protocol 7.19: answers have the sizes of that version
      def init(_node, _body)
        [7, 19, 65_536, 0, 12, 10, 65_536].pack("LLLLSSL")
      end

      def attributes(node)
        mode, size = NODES.fetch(node)
        [node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].pack("Q6L10")
      end

      def entry(node)
        [node, 0, 0, 0, 0, 0].pack("Q4L2") + attributes(node)
      end

      def lookup(_node, body)
        node = @names[body.delete_suffix("\0")]
        node ? entry(node) : Errno::ENOENT::Errno
      end

      def getattr(node, _body)
        [0, 0, 0].pack("QLL") + attributes(node)
      end
      alias_method :setattr, :getattr

      def readlink(_node, _body) = "text"
      def symlink(_node, _body) = entry(5)
      def mknod(_node, _body) = entry(7)
      def mkdir(_node, _body) = entry(3)
      def link(_node, _body) = entry(2)
      def done(_node, _body) = ""
      %i[unlink rmdir rename release fsync flush releasedir access setlk setlkw].each do |kind|
        alias_method kind, :done
      end

      # Bit 0: not through the page cache, so that each read and write is asked for.
      def open(_node, _body) = [0, 1, 0].pack("QLL")
      def opendir(_node, _body) = [0, 0, 0].pack("QLL")

      def create(_node, body)
        @names[body.byteslice(16..).delete_suffix("\0")] = 2
        entry(2) + [0, 1, 0].pack("QLL")
      end

      def statfs(_node, _body) = ([0] * 5 + [4096, 255, 4096, 0] + [0] * 6).pack("Q5L4L6")

      def read(node, body)
        _, offset, size = body.unpack("QQL")
        TEXTS.fetch(node, "").byteslice(offset, size) || ""
      end

      def write(_node, body)
        [body.unpack("QQL").last, 0].pack("LL")
      end

      def readdir(node, body)
        _, offset, = body.unpack("QQL")
        return "" if offset.positive?

        names = node == 1 ? { "text" => 2, "folder" => 3 } : { "inner" => 4 }
        entries = names.each_with_index.map do |(name, inode), index|
          padded = (name.bytesize + 7) / 8 * 8
          [inode, index + 1, name.bytesize, 0, name].pack("QQLLa#{padded}")
        end
        entries.join
      end
    end
  end
end
