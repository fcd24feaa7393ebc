# frozen_string_literal: true

require "cgi"
require "nokogiri"
require "pathname"
require "set"
require "yaml"

include Nanoc::Helpers::HTMLEscape

# Pages that are made of the repository's files, their titles and places.
class Pages
  ROOT = File.expand_path("../..", __dir__)
  OUTSIDE = %w[README.md CONTRIBUTING.md].freeze
  # Titles in the sidebar that say more than the first line of their page.
  TITLES = {
    "/README.md" => "What it is", "/docs/ARCHITECTURE.md" => "Architecture",
    "/docs/METRICS.md" => "Metrics", "/docs/HOOKS.md" => "Waiting methods",
    "/docs/COMPATIBILITY.md" => "Libraries"
  }.freeze
  LINK = /\]\(([^)\s]+)\)/

  class << self
    # @return [Hash{String => Array<String>}] task => identifiers without an extension
    def navigation = @navigation ||= YAML.safe_load_file(File.join(ROOT, "site/navigation.yml"))

    def find(items, path)
      items["#{path}.*"] or raise "site/navigation.yml names #{path}, and there is no such page"
    end

    # @return [String] where the page is written
    def output(item)
      path = item.identifier.to_s.delete_prefix("/docs")
      path == "/README.md" ? "/index.html" : path.sub(/\.(?:md|html)\z/, ".html")
    end

    def title(item)
      item[:title] || TITLES[item.identifier.to_s] ||
        item.raw_content[/^# (.+)/, 1]&.delete("`") || item.identifier.to_s
    end
  end

  def initialize(items, config)
    @items = items
    @config = config
  end

  # Adds the pages from outside of docs/, and a copy of each file that a page links to.
  def add
    OUTSIDE.each { |path| create(path, "/#{path}") }
    linked.each { |path| create(path, "/source/#{path}", title: path, source: true) }
    check_navigation
  end

  private

  def create(path, identifier, **attributes)
    @items.create(content(File.join(ROOT, path)), attributes, identifier)
  end

  # @return [String] of a folder its README or the names in it
  def content(path)
    return File.read(path) unless File.directory?(path)

    readme = File.join(path, "README.md")
    File.exist?(readme) ? File.read(readme) : "#{Dir.children(path).sort.join("\n")}\n"
  end

  def linked
    @items.select { |item| item.identifier.to_s.end_with?(".md") }.flat_map { |item|
      folder = File.dirname(item.identifier.to_s)
      item.raw_content.scan(LINK).flatten.map { |link|
        File.expand_path(link.sub(/#.*/, ""), folder)[1..]
      }
    }.uniq.select { |path| outside?(path) }
  end

  def outside?(path)
    File.exist?(File.join(ROOT, path)) && !path.empty? && !OUTSIDE.include?(path) &&
      !(path.start_with?("docs/") && path.end_with?(".md", ".webp"))
  end

  def check_navigation
    named = Pages.navigation.values.flatten
    missing = @items.map { |item| item.identifier.to_s }.grep(%r{\A/docs/(?:guides/)?[^/]+\.md\z})
                    .map { |path| path.delete_suffix(".md") } - named
    raise "site/navigation.yml does not name #{missing.join(", ")}" unless missing.empty?
  end
end

# Links between files become links between pages. Tables get a box that scrolls.
class PageLinks < Nanoc::Filter
  identifier :page_links

  def run(content, _params = {})
    document = Nokogiri::HTML5.fragment(content)
    document.xpath(".//comment()").remove
    document.css("a[href]").each { |link| link["href"] = target(link["href"]) }
    document.css("img[src]").each { |image| image["src"] = target(image["src"]) }
    document.css("table").each { |table| table.wrap('<div class="scroll" tabindex="0"></div>') }
    document.css("pre").each { |pre| pre["tabindex"] = "0" }
    document.to_html
  end

  private

  def target(link)
    return link if link.match?(/\A(?:[a-z]+:|#)/)

    path, fragment = link.split("#", 2)
    page = page_at(File.expand_path(path, File.dirname(@item.identifier.to_s)))
    page ? "#{relative(page)}#{"##{fragment}" if fragment}" : link
  end

  def page_at(path)
    item = @items[path]
    return Pages.output(item) if item && path.match?(/\.(?:md|html|webp)\z/)

    "/source#{path}.html" if @items["/source#{path}"]
  end

  # The item's own, since Nanoc leaves `index.html` out of a path.
  def place
    path = @item.identifier.to_s
    path.start_with?("/source/") ? "#{path}.html" : Pages.output(@item)
  end

  def relative(page)
    Pathname(page).relative_path_from(Pathname(place).dirname).to_s
  end
end

# A file as it is.
class Source < Nanoc::Filter
  identifier :source

  def run(content, _params = {})
    name = @item[:title]
    "<h1>#{CGI.escapeHTML(name)}</h1>\n<pre><code>#{CGI.escapeHTML(content)}</code></pre>\n"
  end
end
