# frozen_string_literal: true

require_relative "api"

# The pages of the Ruby API, a page for each class and module of sig/.
class Reference
  def initialize(items)
    @items = items
    @api = Api.new(Pages::ROOT)
  end

  # @raise [RuntimeError] something public is not documented, or in two places
  def add
    missing = @api.undocumented
    raise "no sentence says what these are: #{missing.join(", ")}" unless missing.empty?

    twice = @api.twice
    raise "both lib/ and sig/ say what these are: #{twice.join(", ")}" unless twice.empty?

    spaces = @api.members.group_by(&:space).reject { |name, _| name.empty? }
    spaces.each { |name, members| create(name, page(name, members)) }
    create("index", index(spaces.keys.sort), "Ruby API")
  end

  private

  def create(name, html, title = name)
    @items.create(html, { title: title }, "/api/#{file(name)}.html")
  end

  def file(name) = name.gsub("::", "-")

  INTRODUCTION = <<~HTML
    <h1>Ruby API</h1>
    <p>What <code>sig/</code> has, with its types in RBS. Begin with <a href="NeverBlock.html">NeverBlock</a>,
    whose short name is <code>NB</code>.</p>
  HTML
  private_constant :INTRODUCTION

  def index(names)
    rows = names.map do |name|
      link = "<a href=\"#{file(name)}.html\">#{h(name)}</a>"
      "<tr><td>#{link}</td><td>#{text(@api.sentence_of(name))}</td></tr>"
    end
    "#{INTRODUCTION}<table><tr><th>name</th><th></th></tr>#{rows.join("\n")}</table>\n"
  end

  def page(name, members)
    "<h1>#{h(name)}</h1>\n<p>#{text(@api.sentence_of(name))}</p>\n<dl class=\"members\">\n" \
      "#{members.map { |member| entry(member) }.join("\n")}\n</dl>\n"
  end

  def entry(member)
    name = h(member.name)
    "<dt id=\"#{name}\"><code>#{name}</code> <code>#{h(member.type)}</code></dt>\n" \
      "<dd><p>#{text(member.sentence)}</p>#{tags(member)}</dd>"
  end

  def tags(member)
    said = member.tags.reject { |tag| Api.said?(member, tag) }
    rows = said.map do |tag|
      words = [tag.tag_name, tag.name].compact.map { |word| "<code>#{h(word.to_s)}</code>" }
      "<li>#{words.join(" ")} #{text(tag.text.to_s)}</li>"
    end
    rows.empty? ? "" : "<ul>#{rows.join}</ul>"
  end

  # As RDoc and YARD write code: `x` and +x+.
  def text(sentence)
    h(sentence.to_s).gsub(/`([^`]+)`|\+([\w.:#]+)\+/) { "<code>#{$1 || $2}</code>" }
  end

  def h(string) = CGI.escapeHTML(string)
end
