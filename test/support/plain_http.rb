# frozen_string_literal: true

# What a test's own HTTP/1.1 service reads of a request. Well-formed ones only: the server's own
# parser is tested with the others.
module PlainHttp
  class << self
    # @return [Array(String, String, Hash{String => String}), nil] method, target and fields by
    #   lower-case name; nil at the end of the connection
    def head(input)
      verb, target, = input.gets&.split
      return unless verb

      headers = {}
      while (line = input.gets&.chomp) && !line.empty?
        name, value = line.split(":", 2)
        headers[name.downcase] = value.strip
      end
      [verb, target, headers]
    end

    # @return [String] a chunked body, which is read to the end of its trailers
    def chunks(input)
      body = +""
      until (size = input.gets.to_i(16)).zero?
        body << input.read(size)
        input.gets
      end
      nil until input.gets.to_s.strip.empty?
      body
    end
  end
end
