# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # XML and HTML.
  module Documents
    def nokogiri_sax(me, turn)
      seen = []
      document = Class.new(Nokogiri::XML::SAX::Document) do
        define_method(:start_element) { |name, *| turn.call && seen << name }
        define_method(:error) { |text| seen << text }
      end
      Nokogiri::XML::SAX::Parser.new(document.new).parse(xml(me))
      seen
    end

    # In how many parts it reads its IO is its own affair, and so is where a part was missing.
    def nokogiri_reader(me, _turn)
      Nokogiri::XML::Reader(Drops.new(xml(me), Turn.new(me), 40)).map(&:name)
    rescue Nokogiri::XML::SyntaxError => e
      e.message.sub(/\A\d+:\d+: (?=.*IO error)/, "")
    end

    def nokogiri_enumerator(me, turn)
      parts = Enumerator.new do |out|
        xml(me, 400).scan(/.{1,400}/m) { |part| turn.call && out << part }
      end
      io = Object.new
      io.define_singleton_method(:read) do |*|
        parts.next
      rescue StopIteration
        nil
      end
      io.define_singleton_method(:close) { nil }
      document = Nokogiri::XML(io)
      [document.xpath("//*").size, document.errors.map(&:to_s)]
    end

    # libxslt keeps the classes for the whole process. They are registered once, and an argument
    # names the request.
    class Functions
      def self.turns = @turns ||= {}
      def slowly(me, text) = Functions.turns.fetch(Integer(me)).call("#{text}-#{me}")
    end

    def nokogiri_xslt(me, turn)
      Functions.turns[me] = turn
      @@registered ||= Nokogiri::XSLT.register("urn:slow", Functions) || true
      sheet = Nokogiri::XSLT(<<~XML)
        <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                        xmlns:s="urn:slow" extension-element-prefixes="s">
          <xsl:template match="/">
            <out>
              <xsl:for-each select="//b">
                <c><xsl:value-of select="s:slowly('#{me}', string(.))"/></c>
              </xsl:for-each>
            </out>
          </xsl:template>
        </xsl:stylesheet>
      XML
      sheet.transform(Nokogiri::XML("<a><b>1</b><b>2</b><b>3</b><b>4</b></a>")).xpath("//c")
           .map(&:text)
    end

    # Neither calls Ruby but for what is read: errors of each are its own.
    def nokogiri_schema(me, turn)
      schema = Nokogiri::XML::Schema(Drops.new(<<~XML, turn, 80))
        <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
          <xs:element name="a#{me}" type="xs:integer"/>
        </xs:schema>
      XML
      [schema.validate(Nokogiri::XML("<a#{me}>#{me.odd? ? "x" : 1}</a#{me}>")).map(&:message),
       Nokogiri::XML(xml(me)).errors.map(&:to_s)]
    end

    def nokogiri_html5(me, turn)
      document = Nokogiri::HTML5(Drops.new("<p>#{me}<b></i>" * (me + 1), turn, 20), max_errors: 10)
      [document.css("p").size, document.errors.map(&:to_s)]
    end

    def libxml_sax(me, turn)
      seen = []
      handler = Class.new do
        include LibXML::XML::SaxParser::Callbacks

        define_method(:on_start_element) { |name, *| turn.call && seen << name }
        define_method(:on_error) { |error| seen << error.to_s }
      end
      LibXML::XML::Error.set_handler(&LibXML::XML::Error::QUIET_HANDLER)
      parser = LibXML::XML::SaxParser.io(StringIO.new(xml(me)))
      parser.callbacks = handler.new
      parser.parse rescue seen << $!.message
      seen
    end

    def libxml_reader(me, turn)
      LibXML::XML::Error.set_handler(&LibXML::XML::Error::QUIET_HANDLER)
      reader = LibXML::XML::Reader.io(Drops.new(xml(me), turn, 40))
      names = []
      names << reader.name while reader.read
      names
    end

    def ox(me, turn)
      handler = Class.new(Ox::Sax) do
        attr_reader :seen

        define_method(:start_element) { |name| turn.call && (@seen ||= []) << name }
        define_method(:error) { |message, line, column| @seen << [message, line, column] }
      end.new
      Ox.sax_parse(handler, StringIO.new(xml(me)))
      handler.seen
    end

    private

    # Bad for odd ones.
    def xml(me, text = 4)
      elements = Array.new(5) { |n| "<e#{me}-#{n}>#{"x" * text}</e#{me}-#{n}>" }
      "<all>#{elements.join}#{"<wrong></rong>" if me.odd?}</all>"
    end
  end
end

# rubocop:enable Style/RescueModifier
