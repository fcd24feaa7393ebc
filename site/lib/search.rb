# frozen_string_literal: true

require "json"

# What search finds: the sections of all pages.
module Search
  module_function

  # @return [String] JSON: an array of url, title of the page, heading, text
  def index(items)
    pages = items.select { |item|
      item.identifier.to_s.match?(%r{\A/(?!source/|assets/).+\.(?:md|html)\z})
    }
    JSON.generate(pages.flat_map { |item| sections(item) })
  end

  def sections(item)
    url = Pages.output(item).delete_prefix("/")
    title = Pages.title(item)
    found = [{ url: url, title: title, heading: title, text: +"" }]
    Nokogiri::HTML5.fragment(item.compiled_content(snapshot: :pre)).children.each do |node|
      if node.name.match?(/\Ah[123]\z/) && node["id"]
        found << { url: "#{url}##{node["id"]}", title: title, heading: node.text, text: +"" }
      else
        found.last[:text] << node.text.gsub(/\s+/, " ") << " "
      end
    end
    found.reject { |section| section[:text].strip.empty? && section[:heading] == title }
  end

  private_class_method :sections
end
