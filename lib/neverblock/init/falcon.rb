# frozen_string_literal: true

require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # falcon.rb: the words in its `service` blocks, or in `rack` blocks of old versions.
    class Falcon < RubyFile
      SERVER = "Falcon"
      FILES = %w[falcon.rb].freeze

      NEEDLESS = {
        %i[require] => "it loads Falcon",
        %i[include load] => "what Falcon's environments do is on here by itself",
        %i[supervisor] => "the front watches the workers",
        %i[scheme protocol authority] =>
          "HTTP/1.1 and HTTP/2 are both on; an address tells the rest",
        %i[cache verbose container_class] => "there is no such setting here"
      }.freeze
      MISSING = {
        %i[hostname] => "an address is host and port here",
        %i[rackup_path] => "the file is named on the command line: neverblock FILE",
        %i[middleware] => "an application is a rackup file here: move it to config.ru"
      }.freeze
      ENDPOINT = /parse\(\s*(["'])([^"']+)\1/.freeze
      BLOCKS = %w[service rack].freeze
      METHODS = { count: :workers, port: :port, url: :url, endpoint: :endpoint,
                  preload: :preload }.freeze

      # @return [Array<Entry>]
      def entries
        @entries ||= Statements.read(@text, @name).flat_map do |one|
          next one.statements.flat_map { |inner| entries_of(inner, 0) } if service?(one)

          entries_of(one, 0)
        end
      end

      private

      def service?(statement)
        statement.kind == :call && BLOCKS.include?(statement.word) && statement.block
      end

      def workers(statement)
        value = value_of(statement)
        Translation.carried("workers #{value.empty? ? ":auto" : value}")
      end

      def port(statement)
        value = value_of(statement)
        return without_value if value.empty?

        Translation.carried("bind #{RubyText.address("http", '"0.0.0.0"', value)}")
      end

      def url(statement) = address(statement.text[/(["'])(\w+:[^"']+)\1/, 2])
      def endpoint(statement) = address(statement.text[ENDPOINT, 2])
      def preload(_statement) = Translation.carried("preload_app true")

      # `count 2`, or `count { 2 }` in a block of an environment.
      def value_of(statement)
        statement.argument || statement.block.to_s.sub(/\A(do|\{)/, "").sub(/(end|\})\z/, "").strip
      end

      def address(url)
        return Translation.missing("write the address as bind \"http://HOST:PORT\"") unless url

        Translation.carried("bind \"#{url}\"", note: certificate(url))
      end

      def certificate(url)
        "it needs a certificate: bind \"#{url}?cert=FILE&key=FILE\"" if url.start_with?("https")
      end
    end
  end
end
