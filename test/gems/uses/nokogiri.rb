# frozen_string_literal: true

Gems.use "nokogiri" do
  requires "nokogiri"
  setup do
    class Titles < Nokogiri::XML::SAX::Document
      attr_reader :text

      def characters(text) = Hunt.nap && @text = "#{@text}#{text}"
    end
    STYLE = Nokogiri::XSLT(<<~XSLT)
      <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
        <xsl:template match="/"><o><xsl:value-of select="/a/b"/></o></xsl:template>
      </xsl:stylesheet>
    XSLT
  end
  answer do |id|
    titles = Titles.new
    Nokogiri::XML::SAX::Parser.new(titles).parse("<a><b>#{id}</b></a>")
    bad = Nokogiri::XML(StringIO.new("<a><b>#{id}</a>" * 30)).errors.size
    [titles.text, bad, Nokogiri::HTML5("<p>#{id}</p>").at_css("p").text,
     STYLE.transform(Nokogiri::XML("<a><b>#{id}</b></a>")).root.text]
  end
end
