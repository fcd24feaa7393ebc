# frozen_string_literal: true

require "commonmarker"
require "rouge"

# Markdown as GitHub shows it, anchors of headings included.
class GithubMarkdown < Nanoc::Filter
  identifier :github_markdown

  EXTENSIONS = %i[table strikethrough autolink].freeze

  def run(content, _params = {})
    document = Nokogiri::HTML5.fragment(CommonMarker.render_html(content, :UNSAFE, EXTENSIONS))
    anchors(document)
    document.css("pre > code").each { |code| color(code) }
    document.to_html
  end

  private

  # @see https://github.com/jch/html-pipeline, its table of contents: the rule that GitHub has
  def anchors(document)
    seen = Hash.new(-1)
    document.css("h1, h2, h3, h4").each do |heading|
      name = heading.text.downcase.gsub(/[^\p{Word}\- ]/u, "").tr(" ", "-")
      number = seen[name] += 1
      heading["id"] = number.zero? ? name : "#{name}-#{number}"
    end
  end

  def color(code)
    lexer = Rouge::Lexer.find(code["class"].to_s.delete_prefix("language-")) or return
    code.inner_html = Rouge::Formatters::HTML.new.format(lexer.lex(code.text))
  end
end
