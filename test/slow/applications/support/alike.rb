# frozen_string_literal: true

require "zlib"

# Two lists of answers to the same steps, and what differs between them but what has to.
class Alike
  # What differs between two runs of one server, and what stands for it. In this order.
  RULES = [
    [/(name=\\?"authenticity_token\\?" value=\\?")[^"\\]+/, '\1TOKEN'],
    [/(name="csrf-token" content=")[^"]+/, '\1TOKEN'],
    [/(authenticity_token=)[^&"]+/, '\1TOKEN'],
    [/(?<!\h)\h{8}-\h{4}-\h{4}-\h{4}-\h{12}(?!\h)/, "UUID"],
    [/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|[+-]\d{4})/, "DATE"],
    [%r{\b\d\d?/\d\d?/\d{4},? \d\d:\d\d [AP]M\b}, "TIME"],
    [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| UTC)?/, "TIME"],
    [/\b\d\d:\d\d [AP]M\b/, "TIME"],
    [/\b(?:less than a minute|1 minute|\d+ (?:minutes|seconds))\b/, "A WHILE"],
    [%r{(nonce[=-]"?)[A-Za-z0-9+/]{22}==}, '\1NONCE'], [/(?<!\d)127\.0\.0\.1(:|%3A)\d+/, "HOST"]
  ].freeze

  # Fields of an answer that differ between two runs of one server, or are the server's own.
  OWN = {
    "date" => "time; Puma sends none", "x-request-id" => "random", "x-runtime" => "time",
    "accept-ranges" => "a file of the application, see #part?",
    "server" => "the server's name", "connection" => "of HTTP/1.1, tested in test/conformance",
    "keep-alive" => "the same", "set-cookie" => "compared as cookies",
    "content-length" => "of tokens; bodies are compared",
    "transfer-encoding" => "framing, tested in test/conformance"
  }.freeze

  # Keys of rows that visitors make begin at TABLE * 1,000,000 + 500,001 in the tests' databases, so
  # that they can be told from other numbers. Several visitors at once get them in any order.
  KEY = /(?:(?<=%2F|%2C)|(?<![\h.]))([1-9]\d?)50\d{4}(?!\h)/

  # @param rules [Array<Array(Regexp, String)>] of the application
  def initialize(rules = [])
    @rules = rules + RULES
  end

  # @param expected [Visitor]
  # @param seen [Visitor]
  # @return [Array<String>] a line or more for each difference
  def differences(expected, seen)
    one = expected.answers
    other = seen.answers
    names = [{}, {}]
    one.zip(other).each_with_object([]) do |(a, b), found|
      return found << "#{a.step}: the last one here was before it" unless b

      steps = [text(a.step, names[0]), text(b.step, names[1])]
      return found << "then Puma's visitor did #{steps[0]}, ours #{steps[1]}" if steps.uniq.size > 1

      found.concat(compare(a, b, *names))
    end
  end

  # @param names [Hash] the names that were given to primary keys so far, by table
  # @return [String] text without what the rules name
  def text(bytes, names = {})
    text = plain(bytes.b)
    @rules.each { |pattern, word| text = text.gsub(pattern, word) }
    text.gsub(KEY) do |key|
      table = names[$1] ||= {}
      table[key] ||= "<row #{table.size + 1} of #{$1}>"
    end
  end

  private

  def compare(one, other, names, other_names)
    return compare_part(one, other) if part?(one, other)

    a = parts(one, names)
    b = parts(other, other_names)
    a.keys.reject { |part| a[part] == b[part] }.map do |part|
      "#{a[:step]}: #{part}: #{apart(a[part], b[part])}"
    end
  end

  # A file that the application sends as a whole: this server answers with the part that was asked
  # for (docs/guides/files.md), Puma with all of it.
  def part?(one, other)
    one.range && one.status == 200 && other.status == 206
  end

  def compare_part(one, other)
    first, last, size = other["content-range"].to_s[%r{\Abytes (.*)\z}, 1].to_s.split(%r{[-/]})
    whole = one.body
    right = size.to_i == whole.bytesize && other.body == whole[first.to_i..last.to_i]
    right ? [] : ["#{one.step}: #{one.range}: not that part of the body of Puma"]
  end

  def parts(answer, names)
    { step: text(answer.step, names), status: answer.status, headers: fields(answer, names),
      cookies: answer.cookies.map { |field| cookie(field) }.sort, body: text(answer.body, names) }
  end

  def fields(answer, names)
    headers = answer.headers.reject { |name, _| OWN.key?(name) }.sort.to_h
    # Its value is of the bytes of the body, tokens included, or of times.
    headers["etag"] &&= [headers["etag"].first[%r{\A(?:W/)?"}]]
    headers = headers.transform_values { |all| all.map { |one| text(one, names) } }
    # A file that has no ETag of the application has a strong one here (docs/guides/files.md).
    headers.delete("etag") if headers["etag"]&.first&.start_with?('"') && headers["last-modified"]
    headers
  end

  # The first that differs.
  def apart(one, other)
    return pairs_apart(one, other) if one.is_a?(Hash)
    return "#{one.inspect}, here #{other.inspect}" unless one.is_a?(String)

    ours = other.lines
    at = one.lines.zip(ours).index { |a, b| a != b } || one.lines.size
    "#{one.bytesize} bytes, here #{other.bytesize}; line #{at + 1}: " \
      "#{one.lines[at].inspect}, here #{ours[at].inspect}"
  end

  def pairs_apart(one, other)
    names = (one.keys | other.keys).reject { |name| one[name] == other[name] }
    names.map { |name| "#{name} #{one[name].inspect}, here #{other[name].inspect}" }.join("; ")
  end

  # Name and attributes; the value is the session's, encrypted with a nonce.
  def cookie(field)
    pair, *attributes = field.split(/; ?/)
    attributes.map! { |one| one.sub(/\A(expires)=.*/i, '\1') }
    [pair.sub(/=.+/m, "=VALUE"), *attributes].join("; ")
  end

  # What a container of compressed or dated parts holds.
  def plain(bytes)
    return pdf(bytes) if bytes.start_with?("%PDF")
    return zip(bytes) if bytes.start_with?("PK\x03\x04".b)

    bytes
  end

  # The streams as text, that of UTF-16 without its zeros. Places and lengths are those of
  # compressed bytes.
  def pdf(bytes)
    text = bytes.gsub(/(?<=stream\n).*?(?=\r?\nendstream)/m) do |stream|
      Zlib::Inflate.inflate(stream)
    rescue Zlib::Error
      stream
    end
    [[/D:\d{14}[+\-\d']*/, "TIME"], [%r{/ID ?\[ ?<\h+> ?<\h+> ?\]}, "/ID"],
     [%r{/Length\d? \d+}, "/Length"], [/\x00/n, ""], [/^\d{10} \d{5} n ?$/, "XREF"],
     [/startxref\s+\d+/, "startxref"]]
      .reduce(text) { |so_far, (pattern, word)| so_far.gsub(pattern, word) }
  end

  # Without the time of each entry, in its own header and in the directory (APPNOTE.TXT 4.3.7,
  # 4.3.12).
  def zip(bytes)
    bytes.gsub(/(PK\x03\x04.{6}).{4}/mn, '\1TIME').gsub(/(PK\x01\x02.{8}).{4}/mn, '\1TIME')
  end
end
