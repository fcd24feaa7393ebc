# frozen_string_literal: true

# Much or deep data.

UnchangedHunt.kind :data do
  needs <<~'RUBY'
    require "zlib"
    require "digest"
    require "erb"
    require "openssl"
    require "set"
    module Hunt
      def self.nested(depth) = (1..depth).inject([]) { |inner, _| [inner] }
      def self.down(depth) = depth.zero? ? 0 : 1 + down(depth - 1)
      def self.down_with_blocks(depth)
        depth.zero? ? 0 : [1].each { |n| return n + down_with_blocks(depth - 1) }
      end
      def self.bottomless(depth) = 1 + bottomless(depth + 1)
    end
  RUBY

  [500, 2_000, 6_000].each do |depth|
    habit :"recursion_#{depth}", "out << Hunt.down(#{depth})\n__WAIT__\n"
  end
  # Fits a thread: past the end of the stack Ruby itself fails at times (decision 0012).
  habit :recursion_blocks, "out << Hunt.down_with_blocks(900)\n"
  habit :recursion_in_fiber, "out << Fiber.new { Hunt.down(800) }.resume << " \
                             "Enumerator.new { |y| y << Hunt.down(800) }.next\n"
  habit :bottomless, "out << (Hunt.bottomless(0) rescue $!.class)\n__WAIT__\nout << __T__\n"
  habit :marshal_deep,
        "out << Marshal.load(Marshal.dump(Hunt.nested(2_000))).flatten.size << __T__\n"
  habit :inspect_deep, "out << Hunt.nested(900).inspect.size << Hunt.nested(900).hash.class << " \
                       "(Hunt.nested(900) == Hunt.nested(900))\n"
  habit :flatten_deep, "out << Hunt.nested(5_000).flatten.size\n"
  habit :json_deep, "out << JSON.parse(JSON.generate(Hunt.nested(95))).to_s.size << " \
                    "(JSON.parse(\"[\" * 200) rescue $!.class)\n"
  habit :regexp_deep, "out << ((\"a\" * 5_000) =~ /\\A(?:a|b|ab)*\\z/).inspect << " \
                      "(\"x\" * 9).match?(/(x+x+)+y/)\n"

  habit :around_deep, <<~'RUBY', setup: <<~'SETUP'
    AT__N__.call(400) do
      __BODY__
      out << __T__
    end
  RUBY
    def self.at_depth__N__(depth, &block)
      depth.zero? ? block.call : at_depth__N__(depth - 1, &block)
    end
    AT__N__ = method(:at_depth__N__)
  SETUP

  habit :digest, <<~'RUBY'
    digest__N__ = Digest::SHA256.new
    3.times { |n| digest__N__ << "#{n}#{__T__}"; __WAIT__ }
    out << digest__N__.hexdigest[0, 12] << OpenSSL::HMAC.hexdigest("SHA1", "key", __T__)[0, 12]
  RUBY

  habit :zlib, <<~'RUBY'
    packed__N__ = StringIO.new
    gzip__N__ = Zlib::GzipWriter.new(packed__N__)
    20.times { |n| gzip__N__ << "#{n}#{__T__}"; __WAIT__ if n == 9 }
    gzip__N__.close
    out << Zlib::GzipReader.new(StringIO.new(packed__N__.string)).read.sum <<
      Zlib::Inflate.inflate(Zlib::Deflate.deflate(__T__))
  RUBY

  habit :zlib_source, <<~'RUBY'
    packed__N__ = Zlib.gzip("line #{__T__}\n" * 2_000)
    IO.pipe do |reader, writer|
      Thread.new do
        packed__N__.each_char.each_slice(40) { |some| writer << some.join; Thread.pass }
        writer.close
      end
      out << Zlib::GzipReader.new(reader).each_line.sum(&:size)
    end
  RUBY

  habit :erb, <<~'RUBY'
    page__N__ = ERB.new(%q(<% 3.times do |n| %><%= n %><% __WAIT__ %>-<%= text %> <% end %>))
    out << page__N__.result_with_hash(text: __T__, id: id)
  RUBY

  habit :big_text, <<~'RUBY'
    text__N__ = __T__ * 30_000
    __WAIT__
    out << text__N__.gsub(/r/, "s").count("s") << text__N__.scan(/\d+/).size <<
      text__N__.tr("r", "t").sum
  RUBY

  habit :big_number, <<~'RUBY'
    out << ((id.sum + 3)**2_000).digits.sum << Integer.sqrt(7**900) % 1_000
  RUBY

  habit :encodings, <<~'RUBY'
    out << __T__.encode("UTF-16LE").bytesize <<
      ("\xff".dup.force_encoding("UTF-8").scrub { |_| __WAIT__; "?" }) <<
      Encoding.default_internal.inspect << Encoding.default_external.class
  RUBY

  habit :sets, <<~'RUBY'
    out << Set.new([3, 1]).merge([1, 2]).sort << Set.new([1]).map { |n| __WAIT__; n + 1 }.first <<
      ObjectSpace::WeakMap.new.size
  RUBY

  habit :collected, <<~'RUBY'
    kept__N__ = Array.new(2_000) { |n| "#{n}#{__T__}" }
    GC.start if id.sum % 7 == 0
    __WAIT__
    out << kept__N__.sum(&:size)
  RUBY
end
