# frozen_string_literal: true

require "cgi"
require "net/http"
require "stringio"

# A client of a web application as a browser is one: it keeps cookies and the token of the last page
# with a form, and writes down every answer.
class Visitor
  # @!attribute step [String] method and path
  # @!attribute range [String, nil] the Range field that was sent
  # @!attribute cookies [Array<String>] the Set-Cookie fields
  Answer = Struct.new(:step, :range, :status, :headers, :cookies, :body, keyword_init: true) do
    # @return [String, nil] the first value of a field
    def [](name) = headers[name]&.first

    # @return [String, nil] what the pattern captures of the body
    def find(pattern) = body[pattern, 1]
  end

  # The application answered otherwise than the visit needs to go on.
  class Refused < StandardError; end

  TOKEN = /<meta name="csrf-token" content="([^"]+)"/

  attr_reader :url, :answers, :token

  # @param url [String] of the server
  # @param headers [Hash] of every request; one with a Cookie field is that of another client
  def initialize(url, headers = {})
    @url = url
    @headers = headers
    @jar = {}
    @answers = []
  end

  # @yieldparam visitor [Visitor] connected
  # @return [Visitor] with its answers
  def visit
    uri = URI(@url)
    Net::HTTP.start(uri.host, uri.port, read_timeout: Patience::SECONDS) do |http|
      @http = http
      yield self
    end
    self
  end

  # @param status [Integer, nil] what the answer has to have
  # @return [Answer]
  # @raise [Refused] it has another
  def get(path, headers = {}, status: nil)
    send_request(Net::HTTP::Get.new(path, headers), status)
  end

  def head(path, headers = {}, status: nil)
    send_request(Net::HTTP::Head.new(path, headers), status)
  end

  # Sends a form with the token of the last page.
  # @param fields [Hash, Array<Array>]
  # @param verb [String, nil] the method that the form stands for
  # @param token [String, nil] another token; nil for none
  def post(path, fields = {}, verb: nil, token: @token, headers: {}, status: nil)
    request = Net::HTTP::Post.new(path, headers)
    request.set_form_data(hidden(fields, verb, token))
    send_request(request, status)
  end

  # Sends bytes with their media type, as an API's client.
  def send_bytes(type, path, bytes, media, headers = {}, status: nil)
    request = type.new(path, { "Content-Type" => media, **headers })
    request.body = bytes
    send_request(request, status)
  end

  # Sends a form with files.
  # @param files [Hash{String => Array(String, String, String)}] by field: name, media type, bytes
  def upload(path, fields, files, verb: nil, headers: {}, status: nil)
    request = Net::HTTP::Post.new(path, headers)
    parts = hidden(fields, verb, @token).to_a
    files.each do |field, (name, media, bytes)|
      parts << [field, StringIO.new(bytes), { filename: name, content_type: media }]
    end
    request.set_form(parts, "multipart/form-data")
    send_request(request, status)
  end

  # @return [String] the Cookie field as it stands
  def cookies = @jar.map { |pair| pair.join("=") }.join("; ")

  private

  def hidden(fields, verb, token)
    fields = fields.to_a
    fields += [["_method", verb]] if verb
    fields += [["authenticity_token", token]] if token
    fields
  end

  def send_request(request, status)
    other_client = request["Cookie"]
    request["Cookie"] = cookies unless other_client || @jar.empty?
    @headers.each { |name, value| request[name] = value unless given?(request, name) }
    # Net::HTTP asks for gzip by itself; a request that asks gets the bytes as they came.
    request["Accept-Encoding"] = "identity" if request.decode_content
    response = @http.request(request)
    answer = Answer.new(step: "#{request.method} #{request.path}", range: request["Range"],
                        status: response.code.to_i, headers: response.to_hash,
                        body: response.body.to_s.b, cookies: response.get_fields("set-cookie").to_a)
    remember(answer) unless other_client
    @answers << answer
    return answer if status.nil? || answer.status == status

    raise Refused, "#{answer.step}: #{answer.status} and not #{status}:\n#{words(answer.body)}"
  end

  # Net::HTTP has a User-Agent of its own.
  def given?(request, name)
    request[name] && !(name == "User-Agent" && request[name] == "Ruby")
  end

  # What a reader sees of a page.
  def words(page)
    page.dup.force_encoding(Encoding::UTF_8).scrub.gsub(%r{<(script|style).*?</\1>}m, "")
        .gsub(/<[^>]*>/, "").squeeze(" \n")[0, 2000]
  end

  def remember(answer)
    answer.cookies.each do |field|
      name, value = field[/\A[^;]*/].split("=", 2)
      value.empty? ? @jar.delete(name) : @jar[name] = value
    end
    @token = CGI.unescapeHTML(answer.find(TOKEN)) if answer.body.match?(TOKEN)
  end
end
